"""A real OpenID provider on loopback, and a browser that a script drives."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx

HERE = Path(__file__).parent / "provider"
CLIENT = "redoma-test"


def why_not() -> str:
    """Why no provider can be started here, or nothing."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return "node or npm is not installed"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return "" if int(said[1:].partition(".")[0]) >= 20 else f"node is {said.strip()}, 20 is needed"


def installed() -> Path:
    """Where the provider's packages lie, each checked against the lock; installed once."""
    lock = (HERE / "package-lock.json").read_bytes()
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redoma-tests"
    place = base / f"openid-{hashlib.sha256(lock).hexdigest()[:16]}"
    place.mkdir(parents=True, exist_ok=True)
    with (base / "openid.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for file in HERE.iterdir():
            shutil.copy(file, place)
        if not (place / "done").exists():
            npm = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(npm, cwd=place, check=True, capture_output=True, timeout=120)
            (place / "done").touch()
    return place


@contextmanager
def provider(seconds: int = 3600) -> Iterator[str]:
    """The address of a provider whose access tokens last so many seconds."""
    env = {**os.environ, "TOKEN_SECONDS": str(seconds), "NODE_NO_WARNINGS": "1"}
    with subprocess.Popen(
        ["node", "provider.mjs"],
        cwd=installed(),
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("http://"):
                    break
            yield line.strip()
        finally:
            process.kill()


class Form(HTMLParser):
    """The first form of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.action = self.action or given.get("action") or ""
        elif tag == "input" and given.get("name"):
            self.fields[str(given["name"])] = given.get("value") or ""


class Browser:
    """A person with a browser: logs in and consents wherever a page asks for it."""

    def __init__(self, person: str = "ada") -> None:
        self._person = person
        # Nothing stays open behind it.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.Client(follow_redirects=False, timeout=20, limits=limits)
        self.visited: list[str] = []

    def until(self, url: str, stop: str) -> str:
        """Walks from an address to the first that begins with `stop`, which is not opened."""
        return self.walk(self.client.get(url), stop)

    def walk(self, response: httpx.Response, stop: str) -> str:
        """Goes on from a page, until an address that begins with `stop` or the last page."""
        for _ in range(20):
            self.visited.append(str(response.url))
            if response.is_redirect:
                url = urljoin(str(response.url), response.headers["location"])
                if url.startswith(stop):
                    return url
                response = self.client.get(url)
                continue
            form = Form(response.text)
            if not form.action:
                return str(response.url)
            fields = form.fields
            fields |= {"login": self._person, "password": "x"} if "login" in fields else {}
            response = self.client.post(urljoin(str(response.url), form.action), data=fields)
        raise AssertionError(f"no end: {self.visited}")

    def comes_back(self, url: str) -> httpx.Response:
        """Logs in at a login's address, and comes back to whoever waits on this machine."""
        return self.client.get(self.until(url, callback_of(url)))


def callback_of(url: str) -> str:
    """Where a login's own address says that a browser comes back to."""
    return httpx.URL(url).params["redirect_uri"]
