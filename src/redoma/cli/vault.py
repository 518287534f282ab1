"""`redoma vault`: secrets by name, kept encrypted, for the gate to add to requests."""

from __future__ import annotations

import os
import sys

from redoma.cli import options
from redoma.i18n import phrased
from redoma.model.display import harmless
from redoma.model.errors import UsageError
from redoma.model.secret import Secret

USAGE = "redoma vault [list | set NAME | remove NAME | reset] [--json]"
HELP = f"""usage: {USAGE}

Keeps secrets by name, encrypted, in a file that only you can read. No command shows a secret
again: `redoma run --credential HOST=vault:NAME` has the gate add it to requests to that host.

  list         the names of what is kept (the default)
  set NAME     keeps a secret; you are asked for it, or it is read from standard input
  remove NAME  forgets one
  reset        begins anew, as where the key is lost; what was kept is put aside, still sealed
  --json       one JSON object
  -h, --help   this text

The key lies in a file beside the secrets; REDOMA_VAULT_KEY=keychain keeps it in the keychain.
"""
_LARGEST = 1 << 17


def main(arguments: list[str]) -> int:
    """Keeps, lists or forgets secrets."""
    given = options.read(arguments, flags=("--json", "-h", "--help"), usage=USAGE)
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    as_json = "--json" in given.flags
    action, *rest = given.words or ["list"]
    from redoma.pipeline.credentials import vault

    if action == "list" and not rest:
        names = vault().names()
        if not names and not as_json:
            sys.stderr.write(phrased("the vault is empty\n"))
            return 0
        return _say({"secrets": list(names)}, "".join(f"{n}\n" for n in names), as_json=as_json)
    if action == "set" and len(rest) == 1:
        vault().put(rest[0], _asked_for(rest[0]))
        return _say({"kept": rest[0]}, phrased("kept {0}\n", harmless(rest[0])), as_json=as_json)
    if action == "set" and len(rest) == 2:
        raise UsageError(
            "a secret is not given on the command line, where others can read it",
            hint=f"redoma vault set {rest[0]}",
        )
    if action == "remove" and len(rest) == 1:
        vault().remove(rest[0])
        return _say(
            {"removed": rest[0]}, phrased("removed {0}\n", harmless(rest[0])), as_json=as_json
        )
    if action == "reset" and not rest:
        aside, names = vault().reset()
        text = phrased("the vault is empty; what it kept lies in {0}\n", harmless(aside))
        text += "".join(f"redoma vault set {harmless(name)}\n" for name in names)
        return _say({"aside": aside, "names": list(names)}, text, as_json=as_json)
    raise UsageError(f"cannot read: vault {action}", hint=USAGE)


def _asked_for(name: str) -> Secret:
    """A secret that a person types unseen, or that another program hands over."""
    if os.isatty(0):
        from getpass import getpass

        text = getpass(phrased("secret for {0}: ", harmless(name)))
    else:
        data = sys.stdin.buffer.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError("this is more than a secret can be", hint=USAGE)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise UsageError("a secret is a text in UTF-8, and this is not", hint=USAGE) from None
    return Secret(text.removesuffix("\n").removesuffix("\r"))


def _say(content: dict[str, object], text: str, *, as_json: bool) -> int:
    if as_json:
        import json

        text = json.dumps(content) + "\n"
    sys.stdout.write(text)
    return 0
