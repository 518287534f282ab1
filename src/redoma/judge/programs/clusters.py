"""Clusters and fleets: what runs in a pod, where manifests come from, what ansible sends out."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import action_of, card_of, card_words, follow, options_of
from redoma.judge.programs.clouds import all_rights, remote_shell
from redoma.judge.programs.containers import POD, contained
from redoma.judge.programs.options import split
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_ADDRESS = re.compile(r"^(?:https?|oci|git|ssh|s3|gs)(?:::|\+\w+)?://|^git::|^git@|^github\.com/")
_HOST_PARTS = re.compile(r"hostPID|hostPath|hostIPC|\"privileged\"\s*:\s*true|privileged: true")
_KIND = re.compile(r"(?:ns|namespaces?|projects?|pvc?|nodes?|no|crds?)/[^/]+$")
_NOT_DRY = frozenset(("none", "false", "0", "no"))
_SHOWS_ALL = re.compile(
    r"(?:yaml|json|jsonpath|go-template|template|custom-columns)", re.IGNORECASE
)


def _dry(options: ProgramOptions) -> bool:
    """`--dry-run` and its values, of which `none` and `false` are the real thing."""
    return options.has("--dry-run") and not any(v in _NOT_DRY for v in options.values("--dry-run"))


def _kind_and_name(word: Arg) -> list[str]:
    return word.split("/", 1) if _KIND.match(word) else [str(word)]


def kubectl(call: Invocation) -> Stream:
    """`kubectl`, `oc`: exec and cp are judged, manifests by address named, secrets seen."""
    card = card_of(call)
    if "delete" in call.args:
        # `namespace/prod` is `namespace prod`.
        call.args = [w.like(piece) for w in call.args for piece in _kind_and_name(w)]
    options = options_of(call)
    operands = options.operands
    verb = str(operands[0]) if operands else ""
    if verb in ("exec", "rsh") and not options.has("--help", "-h"):
        return _exec(call, options)
    action = action_of(card, options)
    if _dry(options) and action not in ("exec", "secret", "serve"):
        do(call, "trial", detail=" ".join(operands[:2]).replace(UNKNOWN, "…"))
    else:
        printed = follow(call)
        if printed.text is not None:
            return printed
        _manifests(call, options, verb)
        all_rights(call, action)
        if verb == "scale" and "0" in options.values("--replicas"):
            do(call, "destroy", detail="scale --replicas=0")
    if verb == "cp":
        _copy(call, operands[1:])
    for word in options.values("--overrides", "-p", "--patch"):
        if _HOST_PARTS.search(word):
            call.fact(Effect.PRIVILEGE, tags=("container",), at=word.span, detail="the node itself")
    if verb == "debug" and any(w.startswith(("node/", "no/", "nodes/")) for w in operands[1:2]):
        call.fact(Effect.PRIVILEGE, tags=("container",), detail="the node itself")
    if verb in ("run", "debug") and options.rest:
        contained(call, POD, options.rest, marked=True)
    if _shows_secrets(options, verb):
        do(call, "secret", detail=" ".join(operands[:3]).replace(UNKNOWN, "…"))
        return Stream(None, SECRET, "kubectl")
    return Stream(None, call.stdin.taint)


def _exec(call: Invocation, options: ProgramOptions) -> Stream:
    words = options.rest
    if words is None:
        # The old form has no `--`: the pod, then the command; options of kubectl end there.
        front = split(call.args, card_of(call)["takes"], stops=True)
        words = front.operands
        words = _after_pod(words)
    if not words:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="exec without a command")
        return Stream(None)
    return contained(call, POD, words, marked=True)


def _after_pod(words: list[Arg]) -> list[Arg]:
    rest = words[1:]
    takes = (
        "-n",
        "--namespace",
        "-c",
        "--container",
        "--context",
        "--kubeconfig",
        "-f",
        "--filename",
    )
    pod_seen = False
    index = 0
    while index < len(rest):
        word = rest[index]
        if word in takes:
            index += 2
        elif word.startswith("-"):
            index += 1
        elif not pod_seen:
            pod_seen = True
            index += 1
        else:
            return rest[index:]
    return []


def _manifests(call: Invocation, options: ProgramOptions, verb: str) -> None:
    for word in options.values("-f", "--filename", "-k", "--kustomize"):
        if word == "-":
            if call.stdin.taint & 2:
                call.fact(Effect.REMOTE, tags=("url",), at=word.span, detail="what was downloaded")
        elif _ADDRESS.search(word):
            if verb in ("apply", "create", "replace", "patch"):
                call.fact(Effect.REMOTE, tags=("url",), at=word.span, detail=str(word))
        else:
            call.reads(word)
    for word in options.values("--from-file", "--from-env-file"):
        call.reads(word.like(word.rpartition("=")[2]))


def _shows_secrets(options: ProgramOptions, verb: str) -> bool:
    operands = options.operands
    if verb == "config" and operands[1:2] == ["view"]:
        return options.has("--raw") or any(UNKNOWN in word for word in operands[2:])
    if verb not in ("get", "edit"):
        return False
    if options.has("--raw"):
        return any("secrets" in word for word in operands[1:])
    kinds = " ".join(operands[1:3]).lower()
    if not re.search(r"(?:^|[,\s/])secrets?(?:$|[,\s/.])", kinds):
        return False
    shapes = options.values("-o", "--output")
    return options.has("--template") or any(_SHOWS_ALL.search(s) or UNKNOWN in s for s in shapes)


def _copy(call: Invocation, operands: list[Arg]) -> None:
    if len(operands) != 2:
        return
    source, target = operands
    if ":" in target:
        if ":" not in source:
            call.reads(source)
    else:
        call.writes(target)


def helm(call: Invocation) -> Stream:
    """`helm`: charts by address, dry runs that are none."""
    options = options_of(call)
    operands = options.operands
    verb = str(operands[0]) if operands else ""
    if _dry(options):
        do(call, "read")
        return Stream(None)
    out = follow(call)
    if verb in ("install", "upgrade"):
        for word in [*operands[1:], *options.values("--repo")]:
            if _ADDRESS.search(word):
                call.fact(Effect.REMOTE, tags=("url",), at=word.span, detail=str(word))
    if verb in ("pull", "fetch"):
        call.writes(options.value("-d", "--destination", "--untardir") or call.word.like("."))
    for word in options.values("-f", "--values", "--set-file"):
        if not _ADDRESS.search(word):
            call.reads(word.like(word.rpartition("=")[2]))
    return out


_ANSIBLE_SHELLS = frozenset(
    ("shell", "command", "raw", "script", "win_shell", "win_command", "expect")
)


def ansible(call: Invocation) -> Stream:
    """`ansible`: one module on many machines; its shell modules run a command line there."""
    options = options_of(call)
    if options.has("--help", "-h", "--version", "--list-hosts") or options.has("-C", "--check"):
        call.fact(Effect.READS)
        return Stream(None)
    module = str(options.value("-m", "--module-name") or "command").rpartition(".")[2]
    if (
        module in ("file", "apt", "yum", "dnf", "service", "user", "systemd", "package")
        and any("absent" in value for value in options.values("-a", "--args"))
    ) or module in ("reboot", "shutdown"):
        do(call, "destroy", detail=f"-m {module}")
    else:
        do(call, "remote", detail=f"-m {module}")
    if options.has("-b", "--become"):
        call.fact(Effect.PRIVILEGE)
    if module in _ANSIBLE_SHELLS:
        for text in options.values("-a", "--args"):
            remote_shell(
                call,
                text.like(re.sub(r"^(?:(?:chdir|creates|removes|executable)=\S+\s+)+", "", text)),
                "ansible",
            )
    return Stream(None)


def secret_runner(call: Invocation) -> Stream:
    """`doppler run -- cmd` and its kin: a local command that gets secrets in its environment."""
    card = card_of(call)
    verb = next(iter(card_words(call, "runs")))
    names = int(next(iter(card_words(call, "names")), "0"))
    words = _after(call, verb, names)
    if words:
        do(call, "login", detail=verb)
        return call.run_args(words)
    options = options_of(call)
    action = action_of(card, options)
    out = follow(call)
    return Stream(None, SECRET, call.name) if action == "secret" else out


def _after(call: Invocation, verb: str, names: int) -> list[Arg]:
    """The command that follows a verb and that many names; options of the command stay with it."""
    card = card_of(call)
    takes, known = card.get("takes", frozenset()), card.get("known", frozenset())
    if "--" in call.args:
        at = [str(word) for word in call.args].index("--")
        front = split(call.args[:at], takes, known).operands
        return call.args[at + 1 :] if front[:1] == [verb] else []
    front = split(call.args, takes, known, stops=True).operands
    if front[:1] != [verb]:
        return []
    words = front[1:]
    for _ in range(names):
        words = split(words, takes, known, stops=True).operands[1:]
    return split(words, takes, known, stops=True).operands


def remote_runner(call: Invocation) -> Stream:
    """`heroku run`, `fly ssh console -C`, `doctl compute ssh`: a command line that runs there."""
    card = card_of(call)
    options = options_of(call)
    action = action_of(card, options)
    out = follow(call)
    if action == "exec":
        for text in options.values("-C", "--command", "-c", "--ssh-command"):
            remote_shell(call, text, call.name)
        words = options.rest or (_after(call, "run", 0) if call.name == "heroku" else [])
        if words:
            remote_shell(call, words[0].like(" ".join(words)), call.name)
    return Stream(None, SECRET, call.name) if action == "secret" else out
