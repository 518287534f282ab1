"""`redoma trust` and `redoma allow`: what runs are given for good, said by a person alone."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.pipeline.decisions import policies
from redoma.pipeline.kept_grants import as_rows, project_of, rooted, untrusted
from redoma.pipeline.trusted_requests import TrustedRequests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.policy import RequestedGrants

_YES = ("y", "yes", "s", "sim")
_SHORT = 16
TRUST = CommandTable(
    "trust",
    "Shows what the project's own sandbox.yaml asks for under `grants`, and remembers your yes to"
    " exactly this content of it. A project grants itself nothing: without a yes, and after any"
    " change of the file, its runs are given what your own file gives.",
    usage=("[--digest DIGEST] [--json] [DIR]", "--revoke [DIR]"),
    arguments=(Argument("DIR", "the project (default: this directory)"),),
    options=(
        Heading("options"),
        Option(
            "--digest DIGEST",
            "says yes without a question to the requests that have this digest, and to no others",
        ),
        Option("--revoke", "takes the yes back, and what `redoma allow` kept for the project"),
        Option("--json", "one JSON object: what is asked for, and whether it has a yes"),
    ),
    status="0 there is a yes, or nothing is asked for; 1 there is none.",
    samples=(Sample("redoma trust --json", "what this project asks for, for a program"),),
)
ALLOW = CommandTable(
    "allow",
    "Adds a grant for the runs of this project; with --once for its next run, with --always for"
    " every run, in your own sandbox.yaml.",
    usage=("host|read|write|env|credential VALUE [--once|--always]",),
    arguments=(Argument("VALUE", "as the option of `redoma run` for it is written"),),
    options=(
        Heading("options"),
        Option("--once", "for the next run of this project, within an hour"),
        Option("--project", "for every run of this project (the usual)"),
        Option("--always", "for every run: written into your own sandbox.yaml"),
        Option("-y, --yes", "does not ask before it is added"),
    ),
    samples=(Sample("redoma allow --once --yes host registry.example", "for the next run of it"),),
)
_KINDS = {
    "host": "hosts",
    "read": "read",
    "write": "write",
    "env": "env",
    "credential": "credentials",
}


@TRUST.main
def trust(given: CommandLine) -> int:
    """Shows what a project asks for, and remembers a yes to it."""
    if len(given.words) > 1:
        raise UsageError(f"nothing is known of {given.words[1]!r} here", hint=TRUST.hint)
    place = os.path.realpath(given.words[0] if given.words else ".")
    policy = policies.load_policy(place)
    store = TrustedRequests()
    if "--revoke" in given.flags:
        files = store.forget(each.path for each in policy.requests)
        kept = store.disallow(project_of(place))
        said = "nothing had a yes\n" if not files and not kept else "taken back\n"
        sys.stdout.write(phrased(said))
        return 0
    waiting = untrusted(policy)
    if given.json:
        _json(policy.requests, waiting)
        return 1 if waiting else 0
    if not policy.requests:
        sys.stdout.write(phrased("the project asks for nothing\n"))
        return 0
    for each in policy.requests:
        _show(each, known=each not in waiting)
    if not waiting:
        return 0
    digest = given.values.get("--digest", "")
    if not _agreed(waiting, digest):
        return 1
    # Attack: the file is exchanged while a person reads: the yes is to the bytes that were read
    # for this screen, and another content has another digest.
    store.trust(waiting)
    sys.stdout.write(phrased("trusted, as long as the file stays as it is\n"))
    return 0


def _agreed(waiting: tuple[RequestedGrants, ...], digest: str) -> bool:
    if digest:
        if len(digest) < _SHORT or any(not each.digest.startswith(digest) for each in waiting):
            raise UsageError(
                "the requests have another digest than {digest}",
                digest=digest,
                hint="redoma trust --json shows it, and what is asked for",
            )
        return True
    return _person_says_yes(
        phrased("may every run of this project have this? [y/N]"),
        "redoma trust --digest DIGEST says which requests it means",
    )


def _person_says_yes(question: str, hint: str) -> bool:
    """Whether whoever sits at the terminal says so; an error where nobody does."""
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError("only a person says yes to that, and nobody can be asked here", hint=hint)
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES


def _show(request: RequestedGrants, *, known: bool) -> None:
    state = phrased("trusted") if known else phrased("not trusted")
    sys.stdout.write(f"{harmless(request.path)}  {request.digest[:_SHORT]}  ({state})\n")
    for kind, value in as_rows(rooted(request)):
        sys.stdout.write(f"  {kind:<12}{harmless(value)}\n")


def _json(requests: tuple[RequestedGrants, ...], waiting: tuple[RequestedGrants, ...]) -> None:
    import json

    rows = [
        {
            "file": each.path,
            "digest": each.digest,
            "trusted": each not in waiting,
            "grants": [{"kind": kind, "value": value} for kind, value in as_rows(rooted(each))],
        }
        for each in requests
    ]
    sys.stdout.write(json.dumps({"requests": rows}) + "\n")


@ALLOW.main
def allow(given: CommandLine) -> int:
    """Adds one grant, for one run, this project or always."""
    ways = [each for each in ("--once", "--project", "--always") if each in given.flags]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} do not go together")
    if len(given.words) != 2 or given.words[0] not in _KINDS:
        raise UsageError(
            "say what is allowed: host, read, write, env or credential, and its value",
            hint="as in: redoma allow host registry.example",
        )
    from redoma.pipeline.user_grants import add_grant, checked_grant

    kind, value = _KINDS[given.words[0]], given.words[1].strip()
    value = checked_grant(kind, value)
    how = ways[0] if ways else "--project"
    project = project_of(".")
    where = {
        "--once": phrased("the next run of {0}", harmless(project)),
        "--project": phrased("every run of {0}", harmless(project)),
        "--always": phrased("every run"),
    }[how]
    question = phrased("may {0} have {1} {2}? [y/N]", where, given.words[0], harmless(value))
    if "--yes" not in given.flags and not _person_says_yes(question, "redoma allow --yes …"):
        return 1
    if how == "--always":
        add_grant(kind, value)
    else:
        TrustedRequests().allow(project, kind, value, once=how == "--once")
    sys.stdout.write(phrased("{0}: {1} {2}\n", where, given.words[0], harmless(value)))
    return 0
