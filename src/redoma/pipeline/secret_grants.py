"""Secrets of the vault that a command gets in plaintext: read, opened late, taken out of output."""

from __future__ import annotations

import re

from redoma.model.errors import EngineFailed, UsageError
from redoma.model.grant import SECRETS, SecretGrant
from redoma.model.message import Message
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.grant import RunPlan

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_FILE = re.compile(rf"{SECRETS}/[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}\Z")
# What loaders, shells and our own sandbox obey: a value there is no secret but an order.
_OBEYED = ("LD_", "PATH", "HOME", "IFS", "ENV", "BASH_", "PYTHON", "NODE_OPTIONS", "GIT_", "TMPDIR")
_FORM = Message("NAME, NAME=VARIABLE or NAME={secrets}/FILE", secrets=SECRETS)


def read_grants(written: Sequence[str]) -> tuple[SecretGrant, ...]:
    """What was written as grants; an error where one cannot be read, or two share a place."""
    found: dict[str, SecretGrant] = {}
    for each in written:
        name, _, place = each.partition("=")
        variable = place or name
        if not _NAME.match(name):
            raise UsageError("secret: {name} names no secret", name=repr(each), hint=_FORM)
        if place.startswith("/"):
            if not _FILE.match(place):
                raise UsageError(
                    "secret: {place} is no file in {secrets}",
                    place=repr(place),
                    secrets=SECRETS,
                    hint=_FORM,
                )
            grant = SecretGrant(name=name, path=place)
        elif not _VARIABLE.match(variable):
            raise UsageError(
                "secret: {variable} is no name of a variable", variable=repr(variable), hint=_FORM
            )
        elif variable.startswith(_OBEYED):
            raise UsageError(
                "secret: {variable} is a variable that programs obey", variable=variable, hint=_FORM
            )
        else:
            grant = SecretGrant(name=name, variable=variable)
        where = grant.path or grant.variable
        if where in found and found[where] != grant:
            raise UsageError("secret: two secrets cannot both be {where}", where=where, hint=_FORM)
        found[where] = grant
    return tuple(found.values())


def with_secrets(plan: RunPlan) -> RunPlan:
    """The plan with the values of its secrets: whoever is asked has said yes by now."""
    from redoma.jail.engines.registry import declared
    from redoma.pipeline.secrets import SHORTEST_SECRET
    from redoma.pipeline.user_vault import vault

    if not declared(plan.engine).gives_secrets:
        raise EngineFailed(
            "the engine {engine} cannot give a secret to a command",
            engine=plan.engine,
            hint="redoma doctor",
        )
    store = vault()
    opened = tuple(store.get(each.name) for each in plan.grant.secrets)
    for grant, secret in zip(plan.grant.secrets, opened, strict=True):
        if len(secret.reveal().strip()) < SHORTEST_SECRET:
            raise UsageError(
                "the secret {grant} is shorter than {shortest_secret} characters: it could not "
                "be taken out of what the command prints",
                grant=grant.name,
                shortest_secret=SHORTEST_SECRET,
                hint="a longer one",
            )
        if "\0" in secret.reveal() and grant.variable:
            raise UsageError(
                "the secret {grant} has a NUL in it, which no variable can have",
                grant=grant.name,
                hint=Message(
                    "give it as a file: {grant}={secrets}/{grant}",
                    grant=grant.name,
                    secrets=SECRETS,
                ),
            )
    return replace(plan, secrets=opened)
