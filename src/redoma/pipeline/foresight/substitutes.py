"""What stands in for a program in a preview: its own dry run, or another subcommand of it.

Attack: an option in the wrong place is an argument, and the command acts. So an option is put
directly behind the word it belongs to, before any `--`; and whatever a program makes of it, it
runs where nothing can be reached.
"""

from __future__ import annotations

from redoma.model.message import Message
from redoma.pipeline.foresight.commands import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.foresight.commands import Seen, Written

    Verbs = tuple[str, ...]

_ON_CLUSTER = (
    "apply create delete patch replace label annotate run expose autoscale scale set taint cordon "
    "uncordon drain"
).split()
_COMPOSE = "up down build create pull push rm restart start stop kill pause unpause run".split()
_APT = "install reinstall remove purge upgrade dist-upgrade full-upgrade autoremove".split()
# program -> the words that follow it -> what to add behind the last of them.
TRIALS: dict[str, dict[Verbs, str]] = {
    "npm": {("publish",): "--dry-run --offline", ("unpublish",): "--dry-run --offline"},
    "pnpm": {("publish",): "--dry-run"},
    "bun": {("publish",): "--dry-run"},
    "poetry": {("publish",): "--dry-run"},
    "uv": {("publish",): "--dry-run"},
    "dart": {("pub", "publish"): "--dry-run"},
    "flutter": {("pub", "publish"): "--dry-run"},
    "mix": {("hex.publish",): "--dry-run"},
    "semantic-release": {(): "--dry-run"},
    "kubectl": {(verb,): "--dry-run=client" for verb in _ON_CLUSTER},
    "oc": {(verb,): "--dry-run=client" for verb in _ON_CLUSTER},
    "helm": {(v,): "--dry-run" for v in ("install", "upgrade", "uninstall", "rollback")},
    "ansible-playbook": {(): "--check --diff"},
    "docker": {("compose",): "--dry-run"},
    "docker-compose": {(): "--dry-run"},
    "apt": {(verb,): "--simulate" for verb in _APT},
    "apt-get": {(verb,): "--simulate" for verb in _APT},
}
_ALREADY = ("--dry-run", "--check", "--simulate")
_NOT = ("false", "none", "no", "0")
# Options that may stand before the subcommand and take the next word.
_CLUSTER = frozenset(
    "-n --namespace --context --kubeconfig --cluster --user -s --server --token --as --as-group "
    "--kube-context".split()
)
_PACKAGES = frozenset(
    "--prefix -C --dir --userconfig --registry -w --workspace --filter -F --cwd".split()
)
_CONTAINERS = frozenset(
    "-H --host -c --context --config -l --log-level -f --file -p --project-name --profile "
    "--env-file --project-directory".split()
)
_TAKES = {
    "kubectl": _CLUSTER,
    "oc": _CLUSTER,
    "helm": _CLUSTER,
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "bun": _PACKAGES,
    "poetry": frozenset("-C --directory -P --project".split()),
    "uv": frozenset("--directory --project --config-file".split()),
    "docker": _CONTAINERS,
    "docker-compose": _CONTAINERS,
    "apt": frozenset("-o --option -c --config-file -t --target-release".split()),
    "apt-get": frozenset("-o --option -c --config-file -t --target-release".split()),
}
_LOCAL = ("apt", "apt-get")
# What a program cannot work without and does not find in a preview.
NEEDS = {
    "kubectl": "the cluster was not asked",
    "oc": "the cluster was not asked",
    "helm": "the cluster was not asked",
    "ansible-playbook": "no other machine was reached",
    "docker": "the Docker daemon was not reached",
    "docker-compose": "the Docker daemon was not reached",
    "podman": "no containers can be run here",
    "systemctl": "no service manager is reached here",
}


def trial(seen: Seen) -> Instead | None:
    """The command's own dry run, where it has one and it stands in the text."""
    written = seen.written
    forms = TRIALS.get(seen.name)
    if written is None or forms is None:
        return None
    verbs, last = verbs_of(written, _TAKES.get(seen.name, frozenset()))
    for length in range(len(verbs), -1, -1):
        option = forms.get(verbs[:length])
        if option is None:
            continue
        if not _acts(seen.name, verbs) or _says_itself(written) or _only_asks(written):
            return None
        at = written.node.words[last[length]].span[1]
        runs = " ".join((seen.name, *verbs[:length], option))
        warnings = (f"{runs}: {NEEDS[seen.name]}",) if seen.name in NEEDS else ()
        return Instead(
            edits=(Edit(place=(at, at), text=f" {option}"),),
            runs=runs,
            warnings=warnings,
            calls=() if seen.name in _LOCAL else (written.text[slice(*written.place)],),
        )
    return None


def refused(seen: Seen) -> str:
    """What to say of a command that says itself that it is no trial."""
    written = seen.written
    if written is None or seen.name not in TRIALS:
        return ""
    if not _says_itself(written) or asks_already(written):
        return ""
    return Message(
        "{command} would act: this cannot be previewed", command=written.text[slice(*written.place)]
    )


def unreached(seen: Seen) -> str:
    """Why a program without a trial of its own could not work, or nothing."""
    if seen.name not in NEEDS or not any(fact.program == seen.name for fact in seen.facts):
        return ""
    words = [str(word) for word in seen.args if not word.startswith("-")]
    return f"{' '.join((seen.name, *words[:2]))}: {NEEDS[seen.name]}"


def verbs_of(written: Written, takes: frozenset[str]) -> tuple[Verbs, list[int]]:
    """The first words that are no options, and where each of them (and the program) stands."""
    verbs: list[str] = []
    places = [0]
    skip = False
    for number, word in enumerate(written.literals[1:], 1):
        if skip:
            skip = False
            continue
        if word is None or word == "--":
            break
        if word.startswith(("-", "+")):
            skip = word in takes
            continue
        verbs.append(word)
        places.append(number)
        if len(verbs) == 2:
            break
    return tuple(verbs), places


def asks_already(written: Written) -> bool:
    """Whether the command is a trial as it is written."""
    given = [(word or "").partition("=") for word in written.literals[1:]]
    return any(name in _ALREADY and value not in _NOT for name, _, value in given)


def _says_itself(written: Written) -> bool:
    """Whether the command has a word on trials of its own; a later word may win over ours."""
    return any((word or "").partition("=")[0] in _ALREADY for word in written.literals[1:])


def _only_asks(written: Written) -> bool:
    """Whether the command is a question about itself."""
    return any(word in ("-h", "--help", "--version") for word in written.literals[1:])


def _acts(name: str, verbs: Verbs) -> bool:
    """Whether these words change something; `docker compose ps` does not."""
    if name == "docker":
        return len(verbs) > 1 and verbs[1] in _COMPOSE
    if name == "docker-compose":
        return bool(verbs) and verbs[0] in _COMPOSE
    return True


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
        warnings=(
            Message(
                "{seen}: planned from the state that is here; no provider was asked", seen=seen.name
            ),
        ),
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
