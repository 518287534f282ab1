"""A console that serves, and a browser that drives it: what the tests of the pages stand on."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
LONG = 60_000
AXE = Path(__file__).parent / "axe"
ROOT = Path(__file__).parents[2]
# What the page sends and gets, seen from inside: which transport carried how much, and what of it was typed.
WITNESS = """
window.__seen = { sockets: [], typed: 0, direct: 0, webrtc: 0, websocket: 0, violations: [] };
document.addEventListener("securitypolicyviolation", (event) =>
  window.__seen.violations.push(event.violatedDirective + " " + event.blockedURI + " " + event.sample));
const kind = (data) => new Uint8Array(data.buffer ?? data)[0];
const size = (data) => data.byteLength ?? 0;
const Socket = WebSocket;
window.WebSocket = class extends Socket {
  constructor(...all) {
    super(...all);
    window.__seen.sockets.push(this);
    this.addEventListener("message", (event) => {
      if (event.data instanceof ArrayBuffer && [1, 2].includes(kind(event.data))) window.__seen.websocket += size(event.data);
    });
  }
  send(data) {
    if (typeof data !== "string" && kind(data) === 3) window.__seen.typed += 1;
    super.send(data);
  }
};
if (window.RTCPeerConnection) {
  const Peer = RTCPeerConnection;
  window.RTCPeerConnection = class extends Peer {
    createDataChannel(...all) {
      const made = super.createDataChannel(...all);
      window.__seen.channel = made;
      const send = made.send.bind(made);
      made.send = (data) => {
        if (kind(data) === 3) window.__seen.direct += 1;
        send(data);
      };
      made.addEventListener("message", (event) => {
        if ([1, 2].includes(kind(event.data))) window.__seen.webrtc += size(event.data);
      });
      return made;
    }
  };
}
"""


_ARRIVES = """(text) => {
  const bytes = new TextEncoder().encode(text);
  const frame = new Uint8Array(9 + bytes.length);
  frame[0] = 1;
  frame.set(bytes, 9);
  window.__seen.sockets.at(-1).dispatchEvent(new MessageEvent("message", { data: frame.buffer }));
}"""
ASK = "import sys; from tests.console.browsing import asked; print(asked(sys.stdin.read()))"


def asked(request: str) -> str:
    """What a console answers to a request, told as JSON; the answer's text."""
    url, data, headers, method = json.loads(request)
    made = Request(url, data and data.encode(), headers, method=method)
    with build_opener(ProxyHandler({})).open(made, timeout=60) as answer:
        return answer.read().decode()


class Console:
    """A `redoma serve` of the tests' own."""

    def __init__(self, link: str, within: tuple[str, ...] = ()) -> None:
        """`within` starts a command where the console can be reached."""
        self.url, _, token = link.partition("/#login=")
        self._within = within
        self._bearer = self.call("POST", "/api/login", {"token": token})["bearer"]

    def call(self, method: str, path: str, body: dict | None = None) -> dict:
        """What the host's own program would ask."""
        headers = {"Content-Type": "application/json"}
        if path != "/api/login":
            headers["Authorization"] = f"Bearer {self._bearer}"
        data = None if method == "GET" else json.dumps(body or {})
        request = json.dumps([self.url + path, data, headers, method])
        if not self._within:
            return json.loads(asked(request))
        command = [*self._within, sys.executable, "-c", ASK]
        answer = subprocess.run(
            command, cwd=ROOT, input=request, stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(answer.stdout)

    def link(self) -> str:
        return self.call("POST", "/api/login-link")["link"]

    def start(self, **options: object) -> str:
        return self.call("POST", "/api/sessions", options)["id"]

    def code(self, session: str) -> str:
        return self.call("POST", f"/api/sessions/{session}/code")["code"]

    def guests(self, session: str) -> list[dict]:
        return self.call("GET", f"/api/sessions/{session}")["guests"]


@contextmanager
def serving(place: Path, *before: str) -> Iterator[str]:
    """The first login link of a console whose sessions begin in this directory."""
    workspace = place / "workspace"
    workspace.mkdir(exist_ok=True)
    env = {
        **os.environ,
        "XDG_STATE_HOME": str(place / "state"),
        "XDG_RUNTIME_DIR": str(place / "runtime"),
        "PYTHONPATH": str(ROOT / "src"),
        "REDOMA_LANGUAGE": "en",
    }
    for name in ("state", "runtime"):
        (place / name).mkdir(mode=0o700, exist_ok=True)
    command = [*before, sys.executable, "-m", "redoma", "serve", "--headless", "--port", "0"]
    with (
        (place / "stderr").open("w") as errors,
        subprocess.Popen(
            command, cwd=workspace, env=env, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            link = process.stdout.readline().strip()
            assert link.startswith("http"), (place / "stderr").read_text()
            yield link
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def browsing(executable: str = CHROMIUM, *flags: str) -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=[*FLAGS, *flags], timeout=LONG
        )
        yield browser
        browser.close()


class Desk:
    """Opens tabs, each a person of its own, and remembers what none of them may do."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self._url = url
        self._contexts: list[BrowserContext] = []
        self._pages: list[Page] = []
        self.elsewhere: list[str] = []
        self.errors: list[str] = []

    def person(self, **options: object) -> Page:
        """A new tab of somebody who shares nothing with the others."""
        options.setdefault("locale", "en-US")
        options.setdefault("reduced_motion", "reduce")
        context = self._browser.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(LONG)
        context.add_init_script(WITNESS)
        page = context.new_page()
        context.on("request", lambda request: self._look(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self._contexts.append(context)
        self._pages.append(page)
        return page

    def _look(self, url: str) -> None:
        if not url.startswith((self._url, "data:", "blob:")):
            self.elsewhere.append(url)

    def close(self) -> None:
        """Nobody asked another host, broke a rule of the page, or met an error."""
        broken = [
            rule
            for page in self._pages
            if not page.is_closed() and page.url.startswith(self._url)
            for rule in page.evaluate("() => window.__seen.violations")
        ]
        for context in self._contexts:
            context.close()
        assert self.elsewhere == []
        assert broken == []
        assert self.errors == []


def screen(page: Page) -> str:
    """What a person reads in the terminal."""
    rows = page.locator(".xterm-rows > div").all_inner_texts()
    return "\n".join(row.replace("\xa0", " ").rstrip() for row in rows)


def until(holds: Callable[[], object], what: str = "", seconds: float = 60) -> None:
    """Waits for something to hold, as long as a busy machine may need."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what or "it did not come to hold"
        time.sleep(0.05)


def reads(page: Page, text: str) -> None:
    """Waits until the terminal shows a text."""
    end = time.monotonic() + LONG / 1000
    while text not in screen(page):
        assert time.monotonic() < end, f"{text!r} is not in\n{screen(page)}"
        page.wait_for_timeout(50)


def arrives(page: Page, text: str) -> None:
    """Shows a page output as from the server, past what the server takes out; written as for printf."""
    page.evaluate(_ARRIVES, text.replace(r"\033", "\033").replace(r"\007", "\007"))


def types(page: Page, text: str) -> None:
    page.locator(".xterm-helper-textarea").focus()
    page.keyboard.type(text)


def host_at(desk: Desk, console: Console, session: str, **options: object) -> Page:
    """The host's tab, logged in by a link, in a session that is ready."""
    page = desk.person(**options)
    page.goto(console.link())
    page.wait_for_selector("h1")
    page.goto(f"{console.url}/sessions/{session}")
    page.wait_for_selector(".xterm-rows")
    until(lambda: re.search(r"[$#%>] *$", screen(page).rstrip()), "no prompt was shown")
    return page


def guest_at(desk: Desk, console: Console, session: str, name: str, **options: object) -> Page:
    """A guest's tab, in the waiting room."""
    page = desk.person(**options)
    page.goto(f"{console.url}/join#code={console.code(session)}")
    page.fill("#name", name)
    page.locator("button[type=submit]").click()
    page.wait_for_selector(".dome-waiting")
    return page


def admit(host: Page, guest: Page, name: str) -> None:
    host.get_by_role("button", name=f"Admit {name}").click()
    guest.wait_for_selector(".xterm-rows")


def grant(host: Page, name: str) -> None:
    host.get_by_role("button", name=f"Make editable for {name}").click()
    host.get_by_role("alertdialog").get_by_role("button", name="Grant access").click()


def axe_source() -> str:
    """The script that looks for barriers, by npm and its lock; installed once."""
    lock = (AXE / "package-lock.json").read_bytes()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redoma-tests"
    place = base / f"axe-{hashlib.sha256(lock).hexdigest()[:16]}"
    place.mkdir(parents=True, exist_ok=True)
    with (base / "axe.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (place / "done").exists():
            for file in AXE.iterdir():
                shutil.copy(file, place)
            npm = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(npm, cwd=place, check=True, capture_output=True, timeout=300)
            (place / "done").touch()
    return (place / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def barriers(page: Page, source: str) -> list[str]:
    """What would keep somebody out of the page, by axe's rules for WCAG 2.2 AA and good practice."""
    page.evaluate(source + "\n;true")
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['target']} {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
