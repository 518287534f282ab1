"""A host and guests, each in a browser: who sees, who types, and when no longer."""

from __future__ import annotations

import re

import pytest

from tests.console.browsing import (
    Console,
    Desk,
    admit,
    arrives,
    grant,
    guest_at,
    host_at,
    reads,
    screen,
    types,
    until,
)

# Types one letter every few milliseconds past everything that the page itself holds back.
FLOOD = """() => {
  const frame = new Uint8Array([3, "z".charCodeAt(0)]);
  const send = () => {
    const { channel, sockets } = window.__seen;
    const open = channel?.readyState === "open" ? channel : sockets.at(-1);
    if (open?.readyState === 1 || open?.readyState === "open") { open.send(frame); window.__sent = (window.__sent ?? 0) + 1; }
  };
  window.__flood = setInterval(send, 4);
}"""

# Everything by which a program asks a terminal who it is, where its cursor stands, what it shows.
ASKED = (
    r"\033[c\033[>c\033[=c\033[5n\033[6n\033[?6n\033[x\033[>q\033[?1$p\033[4$p\033[?u"
    r"\033[14t\033[18t\033[21t\033P$qm\033\\\033P+q544e\033\\\033]10;?\007\033]11;?\007"
    r"\033]4;1;?\007\033]52;c;?\007\033]50;?\007"
)
TYPED = "() => window.__seen.typed + window.__seen.direct"


@pytest.mark.requirement("S6", "S7", "S8")
def test_a_guest_waits_watches_types_by_leave_and_not_a_byte_after_it_is_taken_back(
    desk: Desk, console: Console
) -> None:
    session = console.start(title="Area")
    host = host_at(desk, console, session)
    types(host, "echo be''fore\r")
    reads(host, "before")

    guest = guest_at(desk, console, session, "Bruno")
    assert guest.locator(".xterm-rows").count() == 0
    assert "before" not in guest.content()
    assert "Area" not in guest.content()

    admit(host, guest, "Bruno")
    reads(guest, "before")
    guest.get_by_text("You are watching.").wait_for()
    types(host, "echo o''ne\r")
    reads(guest, "one")
    types(guest, "echo fal''se\r")

    host.get_by_role("button", name="Make editable for Bruno").click()
    warning = host.get_by_role("alertdialog")
    warning.get_by_text("Giving write access lets the guest control your terminal.").wait_for()
    assert warning.get_by_role("button", name="Cancel").evaluate(
        "e => e === document.activeElement"
    )
    warning.get_by_role("button", name="Grant access").click()
    guest.get_by_text("You can type now").wait_for()
    types(guest, "echo tw''o\r")
    reads(host, "two")
    assert "false" not in screen(host), "what was typed while watching has been run"

    types(host, "clear; cat\r")
    guest.evaluate(FLOOD)
    until(lambda: screen(host).count("z") > 20, "the guest's typing does not arrive")
    host.get_by_role("button", name="Revoke writing of Bruno").click()
    guest.get_by_text("Your write access has been revoked.").wait_for()
    host.get_by_role("button", name="Make editable for Bruno").wait_for()
    host.wait_for_timeout(700)  # what was echoed before is drawn
    arrived, sent = screen(host).count("z"), guest.evaluate("() => window.__sent")
    until(lambda: guest.evaluate("() => window.__sent") > sent + 60)
    host.wait_for_timeout(300)
    assert screen(host).count("z") == arrived
    guest.evaluate("() => clearInterval(window.__flood)")

    host.get_by_role("button", name="End", exact=True).click()
    host.get_by_role("alertdialog").get_by_role("button", name="End the session").click()
    for page in (host, guest):
        page.get_by_role("heading", name="The session has ended").wait_for()


@pytest.mark.requirement("S6", "S7")
def test_of_two_guests_only_the_one_who_was_granted_types(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    ana = guest_at(desk, console, session, "Ana")
    rui = guest_at(desk, console, session, "Rui")
    host.get_by_role("heading", name=re.compile("Waiting room")).get_by_text("2").wait_for()
    admit(host, ana, "Ana")
    types(host, "echo sec''ret\r")
    reads(ana, "secret")
    assert rui.locator(".xterm-rows").count() == 0
    admit(host, rui, "Rui")
    grant(host, "Rui")
    rui.get_by_text("You can type now").wait_for()
    ana.get_by_text("Can type").wait_for()  # who may type is seen by all
    types(ana, "echo an''a\r")
    types(rui, "echo ru''i\r")
    reads(host, "rui")
    reads(ana, "rui")
    assert not re.search(r"^ana$", screen(host), re.MULTILINE)
    host.get_by_role("button", name="Hide the terminal from Ana").click()
    ana.get_by_text("The host hides the terminal from you.").wait_for()
    assert ana.locator(".xterm-rows").count() == 0
    host.get_by_role("button", name="Block Rui").click()
    rui.get_by_role("heading", name="The host did not let you in").wait_for()


@pytest.mark.requirement("S8")
def test_whoever_comes_back_or_uses_a_code_again_waits_again(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    guest.reload()
    guest.wait_for_selector(".dome-waiting")
    assert guest.locator(".xterm-rows").count() == 0
    admit(host, guest, "Bruno")
    guest.get_by_text("You are watching.").wait_for()

    other = desk.person()
    code = console.code(session)
    for name, expected in (("One", ".dome-waiting"), ("Two", ".note-danger")):
        other.goto(f"{console.url}/join")
        other.fill("#code", code)
        other.fill("#name", name)
        other.locator("button[type=submit]").click()
        other.wait_for_selector(expected)


@pytest.mark.requirement("S12")
def test_the_host_reads_in_the_page_what_happened(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    types(guest, "echo by-a-gu''est\r")
    reads(host, "by-a-guest")
    host.get_by_role("button", name="Revoke writing of Bruno").click()
    guest.get_by_text("Your write access has been revoked.").wait_for()
    guest.get_by_role("button", name="Leave").click()
    guest.wait_for_selector("#code")
    host.get_by_role("button", name="View logs").click()
    dialog = host.get_by_role("dialog")
    for expected in (
        "Guest joined",
        "Bruno: Watches → Can type",
        "Bruno: Can type → Watches",
        "echo by-a-gu''est",
        "Guest left",
    ):
        shown = dialog.get_by_role("cell", name=expected)
        while not shown.count():
            dialog.get_by_role("button", name="Refresh").click()
            host.wait_for_timeout(200)
    assert guest.request.get(f"{console.url}/api/sessions/{session}/audit").status == 401


def test_a_recording_is_seen_again_with_its_markers(desk: Desk, console: Console) -> None:
    session = console.start(record=True)
    host = host_at(desk, console, session)
    host.get_by_text("Recording").first.wait_for()
    types(host, "echo rec''orded\r")
    reads(host, "recorded")
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    with host.expect_download() as saved:
        host.get_by_role("button", name="Download").click()
    assert (
        '"version": 3' in saved.value.path().read_text()
        or '"version":3' in saved.value.path().read_text()
    )
    host.get_by_role("button", name="Replay").click()
    host.locator(".marker").first.wait_for()
    last = host.get_by_role("slider")
    last.focus()
    host.keyboard.press("End")
    reads(host, "recorded")
    host.locator(".marker").last.click()
    host.keyboard.press("Shift+Tab")
    assert "Bruno" in host.locator(".markers").inner_text()


def test_no_page_answers_what_a_program_asks_its_terminal(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    types(host, f"printf '{ASKED}'; echo as''ked\r")
    reads(guest, "asked")
    guest.wait_for_timeout(400)
    assert guest.evaluate(TYPED) == 0
    # Attack: a question that the server did not know as one gets as far as the pages.
    for page in (host, guest):
        before = page.evaluate(TYPED)
        arrives(page, ASKED + "drawn")
        reads(page, "drawn")
        page.wait_for_timeout(300)
        assert page.evaluate(TYPED) == before
        types(page, "x")
        assert page.evaluate(TYPED) == before + 1, "what is typed is not counted here"


def test_a_host_who_goes_freezes_the_guests_until_they_are_back(
    desk: Desk, console: Console
) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    grant(host, "Bruno")
    guest.get_by_text("You can type now").wait_for()
    host.goto(f"{console.url}/sessions")
    guest.get_by_text("The host is away.").wait_for()
    left = re.compile(r"^(\d+) s left$")
    first = left.match(guest.get_by_role("timer").inner_text())
    assert first is not None
    assert 0 < int(first[1]) <= 120
    guest.get_by_text(left).filter(has_not_text=f"{first[1]} s").wait_for()
    types(guest, "echo fro''zen\r")
    guest.wait_for_timeout(300)
    host.goto(f"{console.url}/sessions/{session}")
    guest.get_by_text("The host is away.").wait_for(state="detached")
    types(host, "echo ba''ck\r")
    reads(guest, "back")
    assert "frozen" not in screen(host)


def test_a_guest_in_two_tabs_is_in_the_newer_one_alone(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    guest = guest_at(desk, console, session, "Bruno")
    kept = guest.evaluate("() => JSON.stringify({ ...sessionStorage })")
    newer = guest.context.new_page()
    newer.goto(f"{console.url}/join")
    newer.evaluate("(kept) => Object.assign(sessionStorage, JSON.parse(kept))", kept)
    newer.goto(f"{console.url}/sessions/{session}")
    newer.wait_for_selector(".dome-waiting")
    guest.get_by_text("You are in this session in another tab.").wait_for()
    admit(host, newer, "Bruno")
    assert guest.locator(".xterm-rows").count() == 0


def test_the_host_is_told_what_a_session_changed(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    types(host, "echo made > in-the-session; ls''\r")
    reads(host, "in-the-session\n")
    guest = guest_at(desk, console, session, "Bruno")
    admit(host, guest, "Bruno")
    types(host, "exit\r")
    host.get_by_role("heading", name="The session has ended").wait_for()
    host.get_by_text("redoma apply").wait_for()
    guest.get_by_role("heading", name="The session has ended").wait_for()
    assert "redoma apply" not in guest.content()
