"""Programs that can say what they would do: the option or the word that makes them say it.

Attack: an option in the wrong place is an argument, and the command acts. So an option is put
directly behind the word it belongs to, before any `--`; and whatever a program makes of it, it
runs where nothing can be reached.
"""

from __future__ import annotations

from redoma.pipeline.kinds.instead import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.kinds.calls import Seen, Written

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
    return f"{written.text[slice(*written.place)]} would act: this cannot be previewed"


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
