"""`redoma login` and `logout`: a person logs in at a provider; tokens are kept and renewed."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine

LOGIN = CommandTable(
    "login",
    "Logs you in at a provider, with your browser: an authorization code with PKCE, which comes"
    " back to an address of this machine. What the provider gives is kept in the system's keychain,"
    " renewed when it is used, and shown by no command: `redoma run --credential HOST=login:NAME`"
    " has the egress gate add it to requests.",
    usage=("[--client-id ID] [--device] [--tokens PLACE] PROVIDER", "--list [--json]"),
    arguments=(Argument("PROVIDER", "github, supabase, or the address of an issuer: https://…"),),
    options=(
        Heading("options"),
        Option("--list", "the providers that you are logged in at"),
        Option(
            "--client-id ID",
            "the client that you registered there (default: $REDOMA_LOGIN_CLIENT_ID)",
        ),
        Option("--device", "you type a code at the provider's page, on whatever machine"),
        Option("--scope SCOPE", "what the token is to be good for", many=True),
        Option("--project NAME", "which project, where a provider has an issuer for each"),
        Option("--name NAME", "what the login is called here, where that is not the provider's"),
        Option("--port PORT", "the port that the browser comes back to, where it is registered"),
        Option("--no-browser", "only shows the address, to be opened by hand"),
        Option(
            "--tokens PLACE",
            "where tokens are kept: keychain (default), or vault, which is encrypted by a key that"
            " `redoma vault rotate --key` puts under a passphrase",
            choices="keychain vault",
        ),
        Option("--json", "one JSON object"),
    ),
    status=(
        "0; 2 the command line cannot be read; 124 nobody came back in time; 125 no login, or no"
        " place to keep its tokens"
    ),
    samples=(
        Sample("redoma login --list", "where you are logged in"),
        Sample("redoma login github", "says that a client id is needed", status=2),
    ),
)
LOGOUT = CommandTable(
    "logout",
    "Forgets a login and its tokens, and tells the provider, where it can be told.",
    usage=("[--json] NAME",),
    arguments=(Argument("NAME", "as `redoma login --list` says it"),),
    options=(Heading("options"), Option("--json", "one JSON object")),
    samples=(Sample("redoma logout github", "there is no such login yet", status=125),),
)
CLIENT_VARIABLE = "REDOMA_LOGIN_CLIENT_ID"


@LOGIN.main
def login(line: CommandLine) -> int:
    """Logs in, or lists where somebody is."""
    from redoma.pipeline.logins import LoginRequest, log_in, token_store
    from redoma.pipeline.user_vault import hidden_memory

    if "--list" in line.flags:
        kept = token_store().logins()
        rows = [
            {"name": e.provider.name, "issuer": e.provider.issuer, "tokens": e.place.value}
            for e in kept
        ]
        text = "".join(
            f"{row['name']}  {row['tokens']}  {row['issuer']}".rstrip() + "\n" for row in rows
        )
        if not rows and not line.json:
            sys.stderr.write(phrased("you are logged in nowhere\n"))
            return 0
        return _say(line, {"logins": rows}, text)
    if len(line.words) != 1:
        raise UsageError("one provider is needed", hint="redoma login github")
    request = LoginRequest(
        provider=line.words[0],
        client_id=line.values.get("--client-id") or os.environ.get(CLIENT_VARIABLE, ""),
        project=line.values.get("--project", ""),
        scopes=tuple(line.every("--scope")),
        name=line.values.get("--name", ""),
        port=_port(line.values.get("--port", "0")),
        device="--device" in line.flags,
        tokens=line.values.get("--tokens", "keychain"),
    )
    browser = "--no-browser" not in line.flags

    def open_page(url: str) -> None:
        sys.stderr.write(phrased("log in here:\n") + f"  {harmless(url)}\n")
        sys.stderr.flush()
        if browser:
            import webbrowser
            from threading import Thread

            # One that runs in the terminal ends only when it has come back to us.
            Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    with hidden_memory():
        made = log_in(request, open_page=open_page, show_code=_show_code)
    name, place = made.provider.name, made.place.value
    text = phrased("logged in at {0}; its tokens are in the {1}\n", name, place)
    return _say(line, {"name": name, "tokens": place}, text)


@LOGOUT.main
def logout(line: CommandLine) -> int:
    """Forgets a login."""
    from redoma.pipeline.logins import log_out
    from redoma.pipeline.user_vault import hidden_memory

    if len(line.words) != 1:
        raise UsageError("the name of a login is needed", hint="redoma login --list")
    with hidden_memory():
        told = log_out(line.words[0])
    name = harmless(line.words[0])
    text = (
        phrased("logged out at {0}\n", name)
        if told
        else phrased("forgot the login at {0}; the provider was not told\n", name)
    )
    return _say(line, {"name": name, "told": told}, text)


def _show_code(page: str, code: str) -> None:
    text = phrased("open {0} and type this code: {1}\n", harmless(page), harmless(code))
    sys.stderr.write(text)
    sys.stderr.flush()


def _port(given: str) -> int:
    if not (given.isascii() and given.isdigit() and int(given[:6]) < 1 << 16):
        raise UsageError(f"--port: {given!r} is no port", hint="--port 8400")
    return int(given)


def _say(line: CommandLine, content: dict[str, object], text: str) -> int:
    if line.json:
        import json

        text = json.dumps(content) + "\n"
    sys.stdout.write(text)
    return 0
