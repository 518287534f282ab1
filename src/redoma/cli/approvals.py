"""`redoma approvals`: what was approved for longer than one run, and how to take it back."""

from __future__ import annotations

import os
import sys

from redoma.cli import options
from redoma.i18n import phrased
from redoma.model.display import harmless, shortened
from redoma.model.errors import UsageError
from redoma.model.question import Remember
from redoma.pipeline.pending_questions import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.pending_questions import Approval

USAGE = "redoma approvals [list | revoke ID | clear] [--workspace DIR] [--json]"
HELP = f"""usage: {USAGE}

Lists what runs without a question because you approved it for longer than once.

  list             what is approved (the default)
  revoke ID        takes one approval back
  clear            takes all of them back
  --workspace DIR  only those of one workspace, for list and clear
  --json           one JSON object
  -h, --help       this text
"""
_LASTS = {
    Remember.ONCE: "once, in advance",
    Remember.SESSION: "this session",
    Remember.EXACT: "always, exactly",
    Remember.PREFIX: "always, begins so",
}
SHOWN = 300


def main(arguments: list[str]) -> int:
    """Lists approvals, or takes some back."""
    given = options.read(
        arguments, flags=("--json", "-h", "--help"), values=("--workspace",), usage=USAGE
    )
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    as_json = "--json" in given.flags
    action, *rest = given.words or ["list"]
    workspace = given.values.get("--workspace", "")
    workspace = os.path.realpath(workspace) if workspace else ""
    if action == "revoke" and len(rest) == 1 and not workspace:
        gone = remembered().revoke(rest[0])
        content: dict[str, object] = {"revoked": [as_object(gone)]}
        return _say(content, phrased("revoked {0}\n", as_line(gone)), as_json=as_json)
    if action == "clear" and not rest:
        count = remembered().clear(workspace=workspace)
        return _say({"revoked": count}, phrased("revoked {0}\n", count), as_json=as_json)
    if action == "list" and not rest:
        return _list(workspace, as_json=as_json)
    raise UsageError(f"cannot read: approvals {' '.join(given.words)}", hint=USAGE)


def _list(workspace: str, *, as_json: bool) -> int:
    kept = [one for one in remembered().list() if workspace in ("", one.workspace)]
    if not kept and not as_json:
        sys.stderr.write(phrased("nothing is approved for longer than one run\n"))
        return 0
    return _say(
        {"approvals": [as_object(one) for one in kept]},
        "".join(f"{as_line(one)}\n" for one in kept),
        as_json=as_json,
    )


def _say(content: dict[str, object], text: str, *, as_json: bool) -> int:
    if as_json:
        import json

        text = json.dumps(content) + "\n"
    sys.stdout.write(text)
    return 0


def as_object(approval: Approval) -> dict[str, object]:
    """An approval for programs; the words themselves are not kept, so they are not here."""
    return {
        "id": approval.id,
        "remember": approval.remember.value,
        "command": approval.shown,
        "workspace": approval.workspace,
        "directory": approval.cwd,
        "session": approval.session,
        "highest_risk": approval.risk.label,
        "rules": list(approval.rules),
        "approved_by": approval.approved_by,
        "timestamp": approval.at,
    }


def as_line(approval: Approval) -> str:
    """An approval on one line."""
    return (
        f"{approval.id}  {phrased(_LASTS[approval.remember]):<17}  "
        f"{phrased('up to {0}', phrased(approval.risk.label)):<15}  "
        f"{harmless(approval.cwd)}  {harmless(shortened(approval.shown, SHOWN))}"
    )
