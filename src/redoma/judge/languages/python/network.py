"""What Python code says to other machines: requests, downloads, sockets, servers."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.languages.python import calls
from redoma.judge.languages.python.arguments import argument, first, keyword
from redoma.judge.languages.python.reading import Reading
from redoma.model.risk import Effect


class Network(Reading):
    """Calls that talk to others."""

    def _url(self, node: ast.AST | None) -> Arg:
        word = self.word(self.constants.text(node))
        self.hosts.append(word)
        return word

    def asks(self, node: ast.Call, name: str) -> None:
        given = first(node) or keyword(node, "url")
        url = self._url(given)
        data = (
            argument(node, 1)
            or keyword(node, "data")
            or keyword(node, "json")
            or keyword(node, "params")
        )
        if data is not None and name.endswith(("urlopen", "Request")):
            self.sends = True
            self.call.sends(0, url)
        elif keyword(node, "params") is not None or UNKNOWN in url:
            self.sends = self.sends or bool(self.taint & SECRET)
            self.call.host(url, "download")
        else:
            self.call.host(url, "download")

    def posts(self, node: ast.Call, name: str) -> None:
        from redoma.judge.interpret.hosts import web_request

        url = self._url(first(node) or keyword(node, "url"))
        self.sends = True
        web_request(self.call, url, calls.NETWORK_SENDS[name], 0, ())

    def fetches(self, node: ast.Call, _name: str) -> None:
        url = self._url(first(node))
        self.call.host(url, "download")
        target = self.constants.text(argument(node, 1))
        if target is not None:
            self.call.writes(self.word(target), content=Stream(None, NETWORK, str(url)))

    def socket(self, node: ast.Call, name: str) -> None:
        self.connects = True
        if name not in ("socket.socket", "paramiko.SSHClient"):
            self.address(first(node))
        if name.startswith(("ftplib", "smtplib", "dns.", "socket.get")):
            self.sends = True

    def address(self, node: ast.AST | None) -> None:
        words = self.constants.words(node)
        host = self.word(words[0] if words else self.constants.text(node))
        self.hosts.append(host)
        self.call.host(host, "raw")

    def serves(self, *_: object) -> None:
        self.listens = True
        self.call.fact(Effect.NETWORK, tags=("listen",), at=self.text.span)
