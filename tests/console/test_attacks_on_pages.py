"""Whatever a command, a name, a title or a log carries stays text; the page talks to nobody else."""

from __future__ import annotations

import json
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Page

from tests.console.browsing import (
    Console,
    Desk,
    admit,
    arrives,
    asked,
    grant,
    guest_at,
    host_at,
    reads,
    types,
    until,
)

# Attack: markup that would run wherever a text becomes part of the page by its source.
MARKUP = "<img src=x onerror=__run(1)><svg onload=__run(2)>\"'><script>__run(3)</script>{{7*7}}"
SHORT = "<img src=x onerror=__run(1)>"
COUNT = (
    "() => document.querySelectorAll('img, script:not([src]), svg[onload], iframe, object').length"
)
RAN = "() => { window.__ran = []; window.__run = (which) => window.__ran.push(which); }"


def click_cell(page: Page, column: int, row: int) -> None:
    """A click of the mouse on a cell of the terminal, which it was moved over before."""
    box = page.locator(".xterm-rows > div").nth(row).bounding_box()
    assert box
    x, y = box["x"] + 8.4 * column + 4, box["y"] + box["height"] / 2
    page.mouse.move(x - 3, y)
    page.wait_for_timeout(300)
    page.mouse.move(x, y)
    page.mouse.click(x, y)


def test_markup_in_titles_names_folders_and_logs_is_only_text(desk: Desk, console: Console) -> None:
    session = console.start(title=MARKUP)
    host = host_at(desk, console, session)
    host.evaluate(RAN)
    guest = guest_at(desk, console, session, SHORT)
    host.locator(".knock").get_by_text(SHORT).wait_for()
    host.get_by_role("button", name="Admit ").click()
    guest.wait_for_selector(".xterm-rows")
    guest.evaluate(RAN)
    host.get_by_role("button", name="Make editable").click()
    host.get_by_role("alertdialog").get_by_text(SHORT).wait_for()
    host.get_by_role("alertdialog").get_by_role("button", name="Grant access").click()
    guest.get_by_text("You can type now").wait_for()
    name = "<b onmouseover=__run(4)>x"
    types(guest, f"mkdir -p {json.dumps(name)} && cd {json.dumps(name)} && pwd && echo mo''ved\r")
    reads(host, "moved")
    host.get_by_role("button", name="View logs").click()
    host.get_by_role("cell", name="onmouseover").first.wait_for()
    host.get_by_role("cell", name=SHORT).first.wait_for()
    for page in (host, guest):
        assert page.evaluate(COUNT) == 0
        assert page.evaluate("() => window.__ran") == []
    host.goto(f"{console.url}/sessions")
    host.locator(".card").get_by_text(MARKUP.partition('"')[0]).wait_for()
    assert host.evaluate(COUNT) == 0


def test_escape_sequences_reach_neither_page_nor_clipboard(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    for page in (host, guest):
        page.evaluate(RAN)
    title = host.title()
    st = r"\033\\"
    hostile = (
        rf"\033]0;{SHORT}\007\033]2;<script>__run(2)</script>\007\033]52;c;c3RvbGVu\007"
        rf"\033]8;;javascript:__run(5){st}scripted\033]8;;{st} "
        rf"\033]8;;data:text/html,<script>__run(6)</script>{st}carried\033]8;;{st} "
    )
    types(host, f"clear; printf '{hostile}'; echo sh''own\r")
    for page in (host, guest):
        reads(page, "shown")
        # Attack: the same, had the server let it pass.
        arrives(page, "\033[H\033[2J" + hostile.replace(r"\\", "\\") + "arri" + "ved")
        reads(page, "arrived")
        for column in (4, 14):
            click_cell(page, column, row=0)
            page.wait_for_timeout(200)
            assert page.get_by_role("dialog").count() == 0
        assert page.evaluate(COUNT) == 0
        assert page.evaluate("() => window.__ran") == []
        assert len(page.context.pages) == 1
    assert host.title() == title
    assert "stolen" not in str(
        host.evaluate("() => navigator.clipboard.readText().catch(() => '')")
    )


def test_a_link_in_the_terminal_is_shown_whole_before_it_is_followed(
    desk: Desk, console: Console
) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    st = r"\033\\"
    address = "https://example.invalid/a/path?q=1"
    types(host, rf"clear; printf '\033]8;;{address}{st}harmless\033]8;;{st}\n'" + "\r")
    reads(host, "harmless")
    rows = host.locator(".xterm-rows > div")
    until(lambda: any(row.startswith("harmless") for row in rows.all_inner_texts()))
    at = next(n for n, row in enumerate(rows.all_inner_texts()) if row.startswith("harmless"))
    click_cell(host, 3, at)
    dialog = host.get_by_role("dialog")
    dialog.get_by_text(address).wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert len(host.context.pages) == 1


def test_a_login_link_is_good_once_and_leaves_nothing_behind(desk: Desk, console: Console) -> None:
    link = console.link()
    host = desk.person()
    host.goto(link)
    host.get_by_role("heading", name="Sessions").wait_for()
    assert "login=" not in host.url
    assert (
        host.evaluate("() => document.cookie + JSON.stringify(localStorage)").count("bearer") == 0
    )
    again = desk.person()
    again.goto(link)
    again.get_by_role("alert").wait_for()
    again.get_by_role("heading", name="Open this page from your terminal").wait_for()
    # Another tab of the same browser is nobody either: the bearer is this tab's alone.
    tab = host.context.new_page()
    tab.goto(f"{console.url}/sessions")
    tab.get_by_role("heading", name="Open this page from your terminal").wait_for()


@pytest.mark.parametrize("path", ["/api/sessions", "/api/me", "/api/sessions/x/audit"])
def test_without_a_bearer_nothing_is_told(console: Console, path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        asked(json.dumps([console.url + path, None, {}, "GET"]))
    said = json.loads(refused.value.read())["error"]
    assert refused.value.code == 401
    assert said["message"]
    assert said["code"]


def test_a_guest_reaches_nothing_of_the_hosts(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    tried = guest.evaluate(
        """async (session) => {
          const { bearer, guest } = JSON.parse(sessionStorage.getItem(`redoma.guest.${session}`));
          const ask = async (method, path, body) => (await fetch(path, {
            method, headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
            body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
          })).status;
          const one = `/api/sessions/${session}`;
          return Promise.all([
            ask("GET", "/api/sessions"), ask("POST", "/api/sessions"), ask("GET", one), ask("DELETE", one),
            ask("POST", `${one}/code`), ask("GET", `${one}/audit`), ask("POST", `${one}/recording`, { on: true }),
            ask("GET", `${one}/recording`), ask("POST", `${one}/guests/${guest}/admit`),
            ask("PUT", `${one}/guests/${guest}/permission`, { permission: "read_write" }),
            ask("POST", "/api/login-link"),
          ]);
        }""",
        session,
    )
    assert set(tried) == {403}
