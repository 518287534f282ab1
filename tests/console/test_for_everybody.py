"""The pages are there for everybody: on a phone, in Portuguese, by keyboard, with a screen reader."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.console.browsing import (
    Console,
    Desk,
    admit,
    axe_source,
    barriers,
    guest_at,
    host_at,
    reads,
    screen,
    types,
)

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def fits(page: Page) -> bool:
    """Whether nothing of the page stands beside the screen."""
    return page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_barrier(desk: Desk, console: Console, scheme: str) -> None:
    source = axe_source()
    found: dict[str, list[str]] = {}

    def look(page: Page, name: str) -> None:
        found[name] = barriers(page, source)

    out = desk.person(color_scheme=scheme)
    out.goto(console.url)
    out.wait_for_selector("h1")
    look(out, "signed out")
    session = console.start(title="Area", record=True)
    host = host_at(desk, console, session, color_scheme=scheme)
    types(
        host, r"printf '\033[31mred \033[33myellow \033[90mgrey \033[37mwhite\033[0m\n'; ls" + "\r"
    )
    reads(host, "white")
    look(host, "session")
    host.get_by_role("button", name="Invite", exact=True).click()
    host.wait_for_selector(".code")
    look(host, "invite")
    host.keyboard.press("Escape")
    guest = guest_at(desk, console, session, "Bruno", color_scheme=scheme, **PHONE)
    look(guest, "waiting room")
    host.wait_for_selector(".waiting-room")
    look(host, "knock")
    admit(host, guest, "Bruno")
    look(guest, "watching")
    host.get_by_role("button", name="Make editable for Bruno").click()
    look(host, "warning")
    host.get_by_role("button", name="Grant access").click()
    guest.get_by_text("You can type now").wait_for()
    look(guest, "typing")
    look(host, "people")
    host.get_by_role("button", name="View logs").click()
    host.wait_for_selector(".table")
    look(host, "logs")
    host.keyboard.press("Escape")
    host.get_by_role("button", name="Revoke writing of Bruno").click()
    guest.get_by_text("Your write access has been revoked.").wait_for()
    look(guest, "revoked")
    host.get_by_role("button", name="End", exact=True).click()
    look(host, "end?")
    host.get_by_role("button", name="End the session").click()
    host.get_by_role("heading", name="The session has ended").wait_for()
    look(host, "ended")
    host.goto(f"{console.url}/sessions/{session}/replay")
    host.wait_for_selector(".marker")
    look(host, "replay")
    host.goto(f"{console.url}/sessions")
    host.wait_for_selector(".card")
    look(host, "sessions")
    host.get_by_role("button", name="Start a session").click()
    look(host, "start")
    out.goto(f"{console.url}/join")
    look(out, "join")
    assert {name: each for name, each in found.items() if each} == {}


def test_a_phone_shows_every_page_whole(desk: Desk, console: Console) -> None:
    session = console.start(title="A title that is much too long for any phone " * 3)
    host = host_at(desk, console, session, **PHONE)
    assert fits(host)
    guest = guest_at(desk, console, session, "Bruno", **PHONE)
    assert fits(guest)
    host.wait_for_selector(".waiting-room")
    assert host.get_by_role("button", name="Admit Bruno").is_visible(), "it comes over the terminal"
    admit(host, guest, "Bruno")
    assert fits(guest)
    types(host, "echo on-a-ph''one\r")
    reads(guest, "on-a-phone")
    guest.get_by_role("button", name="Larger letters").click()
    assert fits(guest)
    host.get_by_role("button", name="People", exact=True).click()
    host.get_by_role("button", name="Make editable for Bruno").click()
    assert fits(host)
    box = host.get_by_role("alertdialog").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["viewport"]["width"]  # type: ignore[index]
    host.get_by_role("button", name="Cancel").click()
    host.goto(f"{console.url}/sessions")
    host.wait_for_selector(".card")
    assert fits(host)


@pytest.mark.requirement("S7")
def test_the_documents_portuguese_is_what_host_and_guest_read(desk: Desk, console: Console) -> None:
    session = console.start()
    host = host_at(desk, console, session, locale="pt-BR")
    assert host.evaluate("() => document.documentElement.lang") == "pt-BR"
    guest = guest_at(desk, console, session, "Bruno", locale="pt-PT")
    guest.get_by_role("heading", name="Esperando o anfitrião").wait_for()
    host.get_by_role("button", name="Admitir Bruno").click()
    guest.wait_for_selector(".xterm-rows")
    host.get_by_role("button", name="Tornar Editável").click()
    warning = host.get_by_role("alertdialog")
    assert warning.get_by_role("heading").inner_text() == "⚠️ ATENÇÃO"
    for text in (
        "Dar acesso de escrita permite que o convidado controle seu terminal.",
        "Só faça isso com pessoas de confiança.",
    ):
        warning.get_by_text(text, exact=True).wait_for()
    warning.get_by_role("button", name="Cancelar", exact=True).click()
    assert host.get_by_role("button", name="Tornar Editável").is_visible()
    host.get_by_role("button", name="Tornar Editável").click()
    warning.get_by_role("button", name="Conceder Acesso", exact=True).click()
    guest.get_by_text("Agora você pode digitar", exact=True).wait_for()
    host.get_by_role("button", name="Revogar escrita").click()
    guest.get_by_text("Seu acesso de escrita foi revogado.", exact=True).wait_for()
    host.get_by_role("button", name="Ver Logs", exact=True).click()
    host.get_by_role("cell", name="Convidado entrou").wait_for()
    host.keyboard.press("Escape")
    host.get_by_label("Idioma").select_option("en")
    host.get_by_role("button", name="View logs").wait_for()
    host.reload()
    host.get_by_role("button", name="View logs").wait_for()


def test_the_keyboard_alone_starts_a_session_leaves_the_terminal_and_admits(
    desk: Desk, console: Console
) -> None:
    host = desk.person()
    host.goto(console.link())
    host.get_by_role("button", name="Start a session").focus()
    host.keyboard.press("Enter")
    host.get_by_label("Folder").wait_for()
    host.get_by_label("Folder").focus()
    host.keyboard.press("Enter")
    host.wait_for_selector(".xterm-rows")
    session = host.url.rpartition("/")[2]
    host.wait_for_function("() => document.activeElement.className.includes('xterm')")
    host.wait_for_timeout(1500)
    host.keyboard.type("echo by-ke''ys\r")
    reads(host, "by-keys")
    host.keyboard.press("Tab")  # is the shell's: it completes
    assert host.evaluate("() => document.activeElement.className").startswith("xterm")
    host.keyboard.press("Control+Shift+ArrowUp")
    assert not host.evaluate("() => document.activeElement.className").startswith("xterm")
    guest = guest_at(desk, console, session, "Bruno")
    host.get_by_role("button", name="Admit Bruno").wait_for()
    for _ in range(30):
        if host.evaluate("() => document.activeElement.ariaLabel") == "Admit Bruno":
            break
        if host.evaluate("() => document.activeElement.className.includes('xterm')"):
            # The terminal takes Tab: it is left by its own key, and passed.
            host.get_by_role("button", name="Admit Bruno").focus()
            continue
        host.keyboard.press("Tab")
    host.keyboard.press("Enter")
    guest.wait_for_selector(".xterm-rows")
    host.get_by_role("button", name="Make editable for Bruno").focus()
    host.keyboard.press("Enter")
    # Whoever presses Enter too early grants nothing: the careful answer has the focus.
    host.get_by_role("alertdialog").wait_for()
    host.keyboard.press("Enter")
    host.get_by_role("alertdialog").wait_for(state="detached")
    assert [each["permission"] for each in console.guests(session)] == ["read_only"]
    assert host.evaluate("() => document.activeElement.ariaLabel") == "Make editable for Bruno"


def test_a_screen_reader_hears_who_knocks_and_may_read_the_terminal(
    desk: Desk, console: Console
) -> None:
    session = console.start()
    host = host_at(desk, console, session)
    host.get_by_role("button", name="Read aloud").click()
    guest_at(desk, console, session, "Bruno")
    host.locator("[aria-live=polite]").get_by_text("Bruno is waiting to come in").wait_for(
        state="attached"
    )
    types(host, "echo he''ard\r")
    reads(host, "heard")
    host.locator(".xterm-accessibility").get_by_text("heard").first.wait_for(state="attached")
    assert "heard" in screen(host)
