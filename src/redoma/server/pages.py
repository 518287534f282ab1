"""The one page of the console and the files that it loads, as bytes and headers for any server.

Every path that a person may open answers with the same page; its script reads the path. The files
lie below a digest of them all, so a browser may keep them for good and never mixes two versions.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from html import escape

from redoma.model.value import Value

_ROOT = os.path.join(os.path.dirname(__file__), "assets")
_PAGE = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
# Who takes one of our pages into a frame, or opens it from another, learns and moves nothing.
_ALWAYS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), display-capture=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Asset(Value):
    """A file that the page loads."""

    content: bytes
    media_type: str


class ConsolePage(Value):
    """The page and its files, read once."""

    digest: str
    template: str
    assets: dict[str, Asset]

    def html(self, nonce: str) -> bytes:
        """The page, in which only what carries the nonce of this answer may run or style."""
        filled = self.template.replace("{{nonce}}", escape(nonce, quote=True))
        return filled.replace("{{assets}}", f"/assets/{self.digest}").encode()

    def headers(self, nonce: str) -> dict[str, str]:
        """What the page's answer tells the browser to refuse."""
        # Attack: text from a terminal, a guest or a file name that became markup after all: nothing
        # runs without the nonce, nothing is fetched from or sent to another host.
        policy = (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src 'self' 'nonce-{nonce}'",
            # The terminal sets colours and widths on single elements, by script and not by text.
            "style-src-attr 'unsafe-inline'",
            "font-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
        return {
            **_ALWAYS,
            "Cache-Control": "no-store",
            "Content-Security-Policy": "; ".join(policy),
            "Content-Type": _TYPES[".html"],
        }

    def asset(self, path: str) -> Asset | None:
        """The file at a path below `/assets/`, which begins with the digest; None where none is."""
        digest, _, name = path.partition("/")
        return self.assets.get(name) if digest == self.digest else None

    def asset_headers(self, asset: Asset) -> dict[str, str]:
        """A file never changes below its digest, and is what it says it is."""
        return {
            **_ALWAYS,
            "Cache-Control": "public, max-age=31536000, immutable",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Content-Type": asset.media_type,
        }


@cache
def console_page() -> ConsolePage:
    """The page as this installation has it."""
    assets, total = {}, hashlib.sha256()
    for name in sorted(_names()):
        with open(os.path.join(_ROOT, *name.split("/")), "rb") as file:
            content = file.read()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
        media_type = _TYPES.get(os.path.splitext(name)[1], "text/plain; charset=utf-8")
        assets[name] = Asset(content=content, media_type=media_type)
    template = assets.pop(_PAGE).content.decode()
    return ConsolePage(digest=total.hexdigest()[:16], template=template, assets=assets)


def _names() -> list[str]:
    return [
        os.path.relpath(os.path.join(folder, file), _ROOT).replace(os.sep, "/")
        for folder, _, files in os.walk(_ROOT)
        for file in files
        if not file.startswith(".") and file != "manifest.json"
    ]
