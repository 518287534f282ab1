"""Programs whose trial is another subcommand: `terraform plan`, `cargo package`."""

from __future__ import annotations

from redoma.pipeline.kinds.instead import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.kinds.calls import Seen, Written

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
_PACKING = frozenset(
    "--allow-dirty --no-verify --workspace --all --all-features --no-default-features --locked "
    "--keep-going -q --quiet -v --verbose".split()
)
_PACKING_TAKES = frozenset(
    "-p --package --exclude -F --features --target --target-dir --manifest-path -j --jobs".split()
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
    verb = 1
    if seen.name in _PYTHONS or seen.name.startswith("python3."):
        if written.literals[1:3] != ("-m", "twine"):
            return None
        verb = 3
    elif seen.name != "twine":
        return None
    if len(written.literals) <= verb or written.literals[verb] != "upload":
        return None
    files = _kept(written, verb + 1, drops=_TWINE_FLAGS, drops_with_value=_TWINE_TAKES)
    if files is None:
        return None
    words = [written.source(n) for n in range(verb)]
    return Instead(
        edits=(Edit(place=written.place, text=" ".join((*words, "check", *files))),),
        runs="twine check",
        calls=(f"twine upload {' '.join(files)}".rstrip(),),
    )


def pack(seen: Seen) -> Instead | None:
    """`cargo package` in the place of `cargo publish`: its `--dry-run` asks the registry."""
    written = seen.written
    if written is None or seen.name != "cargo" or len(written.literals) < 2:
        return None
    verb = 2 if (written.literals[1] or "").startswith("+") else 1
    if written.literals[verb : verb + 1] != ("publish",):
        return None
    kept = _kept(
        written,
        verb + 1,
        keeps=_PACKING,
        keeps_with_value=_PACKING_TAKES,
        drops_with_value=frozenset(("--token", "--registry", "--index")),
    )
    if kept is None:
        return None
    words = [written.source(n) for n in range(verb)]
    return Instead(
        edits=(Edit(place=written.place, text=" ".join((*words, "package --offline", *kept))),),
        runs="cargo package --offline",
        calls=(written.text[slice(*written.place)],),
    )


def _kept(
    written: Written,
    start: int,
    *,
    keeps: frozenset[str] = frozenset(),
    keeps_with_value: frozenset[str] = frozenset(),
    drops: frozenset[str] = frozenset(),
    drops_with_value: frozenset[str] = frozenset(),
) -> list[str] | None:
    """The words that the other subcommand takes too; nothing where one is not known."""
    kept: list[str] = []
    number = start
    while number < len(written.literals):
        word = written.literals[number]
        name = (word or "").partition("=")[0]
        known = name in keeps or name in keeps_with_value
        if word is None or not word.startswith("-") or known:
            kept.append(written.source(number))
        elif name not in drops and name not in drops_with_value:
            return None
        if name in keeps_with_value | drops_with_value and "=" not in (word or ""):
            number += 1
            if known and number < len(written.literals):
                kept.append(written.source(number))
        number += 1
    return kept
