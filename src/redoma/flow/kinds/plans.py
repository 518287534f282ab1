"""Programs whose trial is another subcommand: `terraform plan`, `twine check`."""

from __future__ import annotations

from redoma.flow.kinds.instead import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.kinds.calls import Seen, Written

_PLANNERS = frozenset(("terraform", "tofu", "terragrunt"))
_PLANS = {"apply": "plan", "destroy": "plan -destroy"}
# What `plan` and `apply` both know; whatever is in neither list is not understood.
_SHARED = frozenset(
    "-var -var-file -target -replace -refresh -refresh-only -destroy -parallelism -lock "
    "-lock-timeout -input -no-color -compact-warnings -state -json".split()
)
_ONLY_APPLY = frozenset("-auto-approve -backup -state-out".split())
_SEPARATE_VALUE = frozenset("-var -var-file -target -replace -state -lock-timeout".split())
_TWINE_TAKES = frozenset(
    "-r --repository --repository-url -u --username -p --password -c --comment --config-file "
    "--cert --client-cert -i --identity --sign-with".split()
)
_TWINE_FLAGS = frozenset(
    "--skip-existing --verbose --disable-progress-bar --non-interactive -s --sign "
    "--attestations".split()
)
_PYTHONS = ("python", "python3", "py")


def plan(seen: Seen) -> Instead | None:
    """The plan of an infrastructure tool, made without asking anyone."""
    written = seen.written
    if written is None or seen.name not in _PLANNERS or len(written.literals) < 2:
        return None
    start = 1
    while (written.literals[start] or "").startswith("-chdir=") and start + 1 < len(
        written.literals
    ):
        start += 1
    verb = written.literals[start]
    if verb not in _PLANS:
        return None
    kept = _planning_options(written, start + 1)
    if kept is None:
        return None
    words = [written.source(n) for n in range(start)]
    text = " ".join((*words, _PLANS[verb], "-input=false", "-lock=false", "-refresh=false", *kept))
    return Instead(
        edits=(Edit(place=written.place, text=text),),
        runs=f"{seen.name} {_PLANS[verb]} -refresh=false",
        warnings=(f"{seen.name}: planned from the state that is here; no provider was asked",),
    )


def _planning_options(written: Written, start: int) -> list[str] | None:
    """The options that `plan` takes too; nothing where the command is more than that."""
    kept: list[str] = []
    number = start
    while number < len(written.literals):
        word = written.literals[number]
        name = (word or "").partition("=")[0]
        name = name[1:] if name.startswith("--") else name
        if name in _SHARED:
            kept.append(written.source(number))
            if name in _SEPARATE_VALUE and "=" not in (word or ""):
                number += 1
                if number < len(written.literals):
                    kept.append(written.source(number))
        elif name not in _ONLY_APPLY:
            return None  # a saved plan, or something newer than this list
        number += 1
    return kept


def check_upload(seen: Seen) -> Instead | None:
    """`twine check` in the place of `twine upload`: the same files, read and not sent."""
    written = seen.written
    if written is None:
        return None
    literals = written.literals
    verb = 1
    if seen.name in _PYTHONS or seen.name.startswith("python3."):
        if literals[1:3] != ("-m", "twine"):
            return None
        verb = 3
    elif seen.name != "twine":
        return None
    if len(literals) <= verb or literals[verb] != "upload":
        return None
    files: list[str] = []
    number = verb + 1
    while number < len(literals):
        word = literals[number]
        name = (word or "").partition("=")[0]
        if word is None or not word.startswith("-"):
            files.append(written.source(number))
        elif name in _TWINE_TAKES:
            number += "=" not in word
        elif name not in _TWINE_FLAGS:
            return None
        number += 1
    words = [written.source(n) for n in range(verb)]
    return Instead(
        edits=(Edit(place=written.place, text=" ".join((*words, "check", *files))),),
        runs="twine check",
        calls=(f"twine upload {' '.join(files)}".rstrip(),),
    )
