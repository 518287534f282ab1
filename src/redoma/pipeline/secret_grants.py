"""Secrets of the vault that a command gets in plaintext: read, opened late, taken out of output."""

from __future__ import annotations

import re

from redoma.model.access import SECRETS, SecretGrant
from redoma.model.errors import EngineFailed, UsageError
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.jail.supervisor.streams import Sink
    from redoma.model.plan import RunPlan
    from redoma.model.result import Exit
    from redoma.vault.exact_stream import ExactStream

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_FILE = re.compile(rf"{SECRETS}/[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}\Z")
# What loaders, shells and our own sandbox obey: a value there is no secret but an order.
_OBEYED = ("LD_", "PATH", "HOME", "IFS", "ENV", "BASH_", "PYTHON", "NODE_OPTIONS", "GIT_", "TMPDIR")
_FORM = f"NAME, NAME=VARIABLE or NAME={SECRETS}/FILE"


def read_grants(written: Sequence[str]) -> tuple[SecretGrant, ...]:
    """What was written as grants; an error where one cannot be read, or two share a place."""
    found: dict[str, SecretGrant] = {}
    for each in written:
        name, _, place = each.partition("=")
        variable = place or name
        if not _NAME.match(name):
            raise UsageError(f"secret: {each!r} names no secret", hint=_FORM)
        if place.startswith("/"):
            if not _FILE.match(place):
                raise UsageError(f"secret: {place!r} is no file in {SECRETS}", hint=_FORM)
            grant = SecretGrant(name=name, path=place)
        elif not _VARIABLE.match(variable):
            raise UsageError(f"secret: {variable!r} is no name of a variable", hint=_FORM)
        elif variable.startswith(_OBEYED):
            raise UsageError(f"secret: {variable} is a variable that programs obey", hint=_FORM)
        else:
            grant = SecretGrant(name=name, variable=variable)
        where = grant.path or grant.variable
        if where in found and found[where] != grant:
            raise UsageError(f"secret: two secrets cannot both be {where}", hint=_FORM)
        found[where] = grant
    return tuple(found.values())


def with_secrets(plan: RunPlan) -> RunPlan:
    """The plan with the values of its secrets: whoever is asked has said yes by now."""
    from redoma.jail.engines.registry import declared
    from redoma.pipeline.credentials import vault

    if not declared(plan.engine).gives_secrets:
        raise EngineFailed(
            f"the engine {plan.engine} cannot give a secret to a command", hint="redoma doctor"
        )
    store = vault()
    opened = tuple(store.get(each.name) for each in plan.grant.secrets)
    for grant, secret in zip(plan.grant.secrets, opened, strict=True):
        if "\0" in secret.reveal() and grant.variable:
            raise UsageError(
                f"the secret {grant.name} has a NUL in it, which no variable can have",
                hint=f"give it as a file: {grant.name}={SECRETS}/{grant.name}",
            )
    return replace(plan, secrets=opened)


class RedactedOutput:
    """What a command prints, without the secrets that it was given."""

    def __init__(self, plan: RunPlan, sink: Sink | None) -> None:
        self._values = tuple(secret.reveal() for secret in plan.secrets)
        self._sink = sink
        self._streams: dict[int, ExactStream] = {}

    def __repr__(self) -> str:
        return "RedactedOutput(…)"

    @property
    def sink(self) -> Sink | None:
        """Who is given what the command prints as it comes; None where nobody wants it."""
        return None if self._sink is None else self._pass

    def finished(self, ended: Exit) -> Exit:
        """Shows what was held back; the end of the run with what is kept of its output."""
        for number, stream in self._streams.items():
            rest = stream.finish()
            if rest and self._sink is not None:
                self._sink(number, rest)
        return replace(ended, stdout=self._whole(ended.stdout), stderr=self._whole(ended.stderr))

    def _pass(self, number: int, data: bytes) -> None:
        assert self._sink is not None
        if number not in self._streams:
            self._streams[number] = self._stream()
        shown = self._streams[number].feed(data)
        if shown:
            self._sink(number, shown)

    def _stream(self) -> ExactStream:
        from redoma.vault.exact_stream import ExactStream

        return ExactStream(self._values)

    def _whole(self, data: bytes) -> bytes:
        stream = self._stream()
        return stream.feed(data) + stream.finish()
