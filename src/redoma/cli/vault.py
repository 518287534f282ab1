"""`redoma vault`: secrets by name, kept encrypted, for the egress gate to add to requests."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.model.grant import Secret
from redoma.pipeline.user_vault import hidden_memory, vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine

VAULT = CommandTable(
    "vault",
    "Keeps secrets by name, encrypted, in a file that only you can read. No command shows a secret"
    " again: `redoma run --credential HOST=vault:NAME` has the egress gate add it to requests to"
    " that host.",
    options=(
        Heading("options"),
        Option(
            "--key PLACE",
            "where the new key is kept: in a file beside the secrets, in the system's keychain, or"
            " sealed under a passphrase that you are asked for",
            choices="file keychain passphrase",
            of="rotate",
        ),
        Option("--json", "one JSON object"),
    ),
    notes=(
        "The key of a new vault lies in a file beside the secrets; REDOMA_VAULT_KEY=keychain or"
        " passphrase keeps it there instead, and says that it has to be there. A passphrase is"
        " asked for at your terminal, or read from the file that REDOMA_VAULT_PASSPHRASE_FILE"
        " names.",
    ),
    samples=(
        Sample("printf secret | redoma vault set api", "keeps a secret by the name api"),
        Sample("redoma vault list", "the names of what is kept"),
        Sample("redoma vault rotate --key passphrase", "a new key, under a passphrase", status=125),
    ),
    usual="list",
    explains=True,
)
_LARGEST = 1 << 17


@VAULT.subcommand("list", "[--json]", "the names of what is kept")
def _list(line: CommandLine) -> int:
    names = vault().names()
    if not names and not line.json:
        sys.stderr.write(phrased("the vault is empty\n"))
        return 0
    return _say(line, {"secrets": list(names)}, "".join(f"{name}\n" for name in names))


@VAULT.subcommand(
    "set",
    "NAME [--json]",
    "keeps a secret; you are asked for it, or it is read from standard input",
    most=None,
)
def _set(line: CommandLine) -> int:
    name, *more = _named(line)
    if more:
        raise UsageError(
            "a secret is not given on the command line, where others can read it",
            hint=f"redoma vault set {name}",
        )
    with hidden_memory():
        vault().put(name, _asked_for(name))
    return _say(line, {"kept": name}, phrased("kept {0}\n", harmless(name)))


@VAULT.subcommand("remove", "NAME [--json]", "forgets one", most=1)
def _remove(line: CommandLine) -> int:
    name = _named(line)[0]
    vault().remove(name)
    return _say(line, {"removed": name}, phrased("removed {0}\n", harmless(name)))


@VAULT.subcommand(
    "rotate",
    "[--key PLACE] [--json]",
    "seals everything anew with a new key, and keeps that where you say",
)
def _rotate(line: CommandLine) -> int:
    from redoma.base.private_file import KeyPlace

    wanted = line.values.get("--key")
    with hidden_memory():
        place, number = vault().rotate(KeyPlace(wanted) if wanted else None)
    text = phrased("a new key ({0}) seals what is kept: {1}\n", place.value, number)
    return _say(line, {"key": place.value, "secrets": number}, text)


@VAULT.subcommand(
    "reset",
    "[--json]",
    "begins anew, as where the key is lost; what was kept is put aside, still sealed",
)
def _reset(line: CommandLine) -> int:
    aside, names = vault().reset()
    text = phrased("the vault is empty; what it kept lies in {0}\n", harmless(aside))
    text += "".join(f"redoma vault set {harmless(name)}\n" for name in names)
    return _say(line, {"aside": aside, "names": list(names)}, text)


def _named(line: CommandLine) -> list[str]:
    if not line.words:
        raise UsageError("a name is needed", hint=f"redoma vault {line.verb} NAME")
    return line.words


def _asked_for(name: str) -> Secret:
    """A secret that a person types unseen, or that another program hands over."""
    if os.isatty(0):
        from getpass import getpass

        try:
            text = getpass(phrased("secret for {0}: ", harmless(name)))
        except EOFError:
            sys.stderr.write("\n")
            raise UsageError(
                "no secret was given, and nothing was kept", hint=f"redoma vault set {name}"
            ) from None
    else:
        data = sys.stdin.buffer.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError("this is more than a secret can be", hint=VAULT.hint)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise UsageError(
                "a secret is a text in UTF-8, and this is not", hint=VAULT.hint
            ) from None
    return Secret(text.removesuffix("\n").removesuffix("\r"))


def _say(line: CommandLine, content: dict[str, object], text: str) -> int:
    if line.json:
        import json

        text = json.dumps(content) + "\n"
    sys.stdout.write(text)
    return 0
