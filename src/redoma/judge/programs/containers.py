"""Containers: what runs inside is judged as such, and what reaches out of them is named."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import follow, options_of
from redoma.judge.programs.deeds import do
from redoma.judge.programs.options import split
from redoma.judge.programs.reach import contained, mount_of, mounted_words, reaches_host
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

_GLOBAL_TAKES = frozenset(
    "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey --url "
    "--identity "
    "--connection --root --runroot --storage-driver --cgroup-manager --namespace -n --address "
    "--data-root --snapshotter".split()
)
_RUN_TAKES = frozenset(
    "--add-host --annotation -a --attach --blkio-weight --blkio-weight-device --cap-add --cap-drop "
    "--cgroup-parent --cgroupns --cidfile --cpu-count --cpu-percent --cpu-period --cpu-quota "
    "--cpu-rt-period "
    "--cpu-rt-runtime -c --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device "
    "--device-cgroup-rule --device-read-bps --device-read-iops --device-write-bps "
    "--device-write-iops --dns "
    "--dns-option --dns-search --domainname --entrypoint -e --env --env-file --expose --gpus "
    "--group-add "
    "--health-cmd --health-interval --health-retries --health-start-period --health-start-interval "
    "--health-timeout -h --hostname --ip --ip6 --ipc --isolation --kernel-memory -l --label "
    "--label-file --link "
    "--link-local-ip --log-driver --log-opt --mac-address -m --memory --memory-reservation "
    "--memory-swap "
    "--memory-swappiness --mount --name --network --net --network-alias --net-alias "
    "--oom-score-adj --pid "
    "--pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size "
    "--stop-signal "
    "--stop-timeout --storage-opt --sysctl --tmpfs --ulimit -u --user --userns --uts -v --volume "
    "--volume-driver "
    "--volumes-from -w --workdir --arch --authfile --creds --pod --secret --systemd --tz --umask "
    "--variant "
    "--requires --sdnotify --uidmap --gidmap --os --preserve-fds --hooks-dir --hosts-file "
    "--image-volume "
    "--init-path --log-level --passwd-entry --pod-id-file --timeout --unsetenv --hostuser "
    "--index --ssh".split()
)
_RUN_KNOWN = frozenset(
    "--detach --disable-content-trust --init --interactive --no-healthcheck --oom-kill-disable "
    "--privileged "
    "--publish-all --quiet --read-only --rm --sig-proxy --tty --replace --rmi --tls-verify "
    "--no-hosts "
    "--http-proxy --env-host --no-hostname --passwd --unsetenv-all --read-only-tmpfs --no-deps "
    "--service-ports "
    "--use-aliases --no-TTY --no-tty --build --remove-orphans --quiet-pull "
    "--quiet-build --latest --help".split()
)
_BUILD_TAKES = frozenset(
    "-t --tag -f --file --build-arg --target --platform --cache-from --cache-to --label --network "
    "--progress "
    "--secret --ssh -o --output --iidfile --add-host --shm-size --ulimit -m --memory -c "
    "--cpu-shares "
    "--cpuset-cpus --isolation --security-opt --metadata-file --builder --allow --attest "
    "--annotation "
    "--build-context --call --cgroup-parent --no-cache-filter --provenance --sbom --cpu-period "
    "--cpu-quota "
    "--format --layers --volume -v --device --cap-add --userns --pull --jobs --authfile".split()
)
_GROUPS = frozenset(("container", "image", "buildx", "builder"))
_ADDRESS = re.compile(r"(?:https?|git|ssh|ftp)://|git@|github\.com/")
_EVERY = re.compile(
    r"(?:docker|podman|nerdctl)\s+(?:container\s+|volume\s+|image\s+)?(?:ps|ls|images)\b(?![^|;&)`]*(?:--filter|\s-f\s|--last))"
    r"[^|;&)`]*?\s-\w*q"
)


def docker(call: Call) -> Stream:
    """`docker`, `podman`, `nerdctl`: what runs, mounts, copies or builds; a card for the rest."""
    options = split(call.args, _GLOBAL_TAKES, stops=True)
    for host in options.values("-H", "--host", "--url"):
        if not host.startswith(("unix:", "/", "npipe:", "fd:")):
            call.host(host)
    words = list(options.operands)
    if words and options.order:
        # What stood before the subcommand is said; the card reads the rest.
        call.args = words
    if words and words[0] == "compose":
        return compose(call, words[1:])
    if len(words) > 1 and words[0] in _GROUPS:
        words = words[1:]
    verb = str(words[0]) if words else ""
    rest = words[1:]
    if any(word == "--help" for word in rest[:1]):
        return _told(call)
    if verb in ("run", "create"):
        return _run(call, rest)
    if verb == "exec":
        return _exec(call, rest)
    if verb in ("build", "b") or (verb == "bake" and "--print" not in rest):
        return _build(call, rest)
    if verb == "cp":
        return _copy(call, rest)
    if verb == "unshare":
        do(call, "container", detail=verb)
        return call.run_args(rest) if rest else Stream(None)
    return (
        _removal(call)
        if verb in ("rm", "rmi", "stop", "kill", "volume", "remove")
        else _by_card(call)
    )


def _told(call: Call) -> Stream:
    call.fact(Effect.READS, tags=("about",))
    return Stream(None)


def _by_card(call: Call) -> Stream:
    options = options_of(call)
    verbs = {str(word) for word in options.operands[:2]}
    if verbs & {"save", "export", "config"}:
        for target in options.values("-o", "--output"):
            call.writes(target)
    if verbs & {"load", "import"} and call.stdin.taint & NETWORK:
        do(call, "fetch")
    return follow(call)


def _removal(call: Call) -> Stream:
    """Removing or stopping: with a list of everything that exists it is everything."""
    out = _by_card(call)
    removes = any(word in ("rm", "rmi", "volume", "remove") for word in call.args[:3])
    unknown = any(UNKNOWN in word for word in call.args)
    if unknown and _EVERY.search(call.walker.text[:4096]):
        do(call, "wreck" if removes else "destroy", detail="of all there is")
    return out


def _run(call: Call, words: list[Arg]) -> Stream:
    options = split(words, _RUN_TAKES, _RUN_KNOWN, stops=True)
    if options.has("--help"):
        return _told(call)
    do(
        call,
        "container",
        detail=" ".join(str(w).replace(UNKNOWN, "…") for w in options.operands[:2]),
    )
    _flags(call, options)
    open_doors = reaches_host(call, options)
    inner = options.operands[1:]
    entry = options.value("--entrypoint")
    if entry is not None and entry:
        inner = [entry, *inner]
    if not inner:
        return Stream(None)
    mounts = [
        m for m in map(mount_of, options.values("-v", "--volume", "--mount")) if m is not None
    ]
    changed = mounted_words(call, inner, mounts[:16])
    image = options.operands[0] if options.operands else call.word
    out = contained(
        call,
        str(image),
        changed if changed is not None else inner,
        marked=not open_doors and changed is None,
    )
    if options.doubtful and len(inner) > 1:
        contained(call, str(image), inner[1:], marked=not open_doors)
    return out


def _flags(call: Call, options: Options) -> None:
    for value in options.values("--env-file", "--label-file"):
        call.reads(value)
    for value in options.values("--cidfile", "--pod-id-file"):
        call.writes(value)
    for value in options.values("--health-cmd"):
        contained(call, "container", [value.like("sh"), value.like("-c"), value], marked=True)


def _exec(call: Call, words: list[Arg]) -> Stream:
    options = split(words, _RUN_TAKES, _RUN_KNOWN, stops=True)
    if options.has("--privileged"):
        call.fact(Effect.PRIVILEGE, tags=("container",))
    for value in options.values("--env-file"):
        call.reads(value)
    name = options.operands[0] if options.operands else call.word
    inner = options.operands[1:]
    if options.has("-d", "--detach"):
        do(call, "container", detail=str(name))
    if not inner:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="exec without a command")
        return Stream(None)
    out = contained(call, str(name), inner, marked=not options.has("--privileged"))
    if options.doubtful and len(inner) > 1:
        contained(call, str(name), inner[1:], marked=True)
    return out


def _build(call: Call, words: list[Arg]) -> Stream:
    options = split(words, _BUILD_TAKES)
    if options.has("--help"):
        return _told(call)
    do(call, "build", detail="build")
    for value in [*options.operands, *options.values("-f", "--file", "--build-context")]:
        if _ADDRESS.search(value):
            call.fact(Effect.EXECUTES, tags=("container", "url"), at=value.span, detail=str(value))
            call.host(value)
    if "-" in options.operands or "-" in options.values("-f", "--file"):
        call.executes_stream(call.stdin, "Dockerfile")
    for value in options.values("-o", "--output", "--iidfile", "--metadata-file"):
        target = value.rpartition("dest=")[2].partition(",")[0]
        if "type=registry" in value:
            do(call, "publish", detail="build --output")
        elif target and target != "-":
            call.writes(value.like(target))
    for value in options.values("--secret"):
        source = re.search(r"(?:src|source)=([^,]+)", value)
        if source:
            call.reads(value.like(source.group(1)))
    if options.has("--push"):
        do(call, "publish", detail="build --push")
    if any("insecure" in value for value in options.values("--allow")):
        call.fact(Effect.PRIVILEGE, tags=("container",))
    return Stream(None)


def _copy(call: Call, words: list[Arg]) -> Stream:
    options = split(words, frozenset(("--index",)))
    operands = options.operands
    do(call, "container", detail="cp")
    if len(operands) != 2:
        return Stream(None)
    source, target = operands
    if not _inside(target):
        if target != "-":
            call.writes(target)
    elif not _inside(source) and source != "-":
        call.reads(source)
    return Stream(None)


def _inside(word: Arg) -> bool:
    """`name:path` is a place in a container; a path of this machine has no such beginning."""
    name, colon, _ = word.partition(":")
    return bool(colon) and "/" not in name and not name.startswith(".")


def compose(call: Call, words: list[Arg] | None = None) -> Stream:
    """`docker compose`, `docker-compose`, `podman-compose`."""
    card = call.walker.knowledge.cards["docker-compose"]
    if words is not None:
        call.args = words
    front = split(call.args, card["takes"], card["known"], stops=True)
    for file in front.values("-f", "--file"):
        if _ADDRESS.search(file):
            call.fact(Effect.EXECUTES, tags=("container", "url"), at=file.span, detail=str(file))
    verb = str(front.operands[0]) if front.operands else ""
    if verb in ("run", "exec") and not front.has("--dry-run"):
        inner = split(front.operands[1:], _RUN_TAKES, _RUN_KNOWN, stops=True)
        if verb == "run":
            do(call, "container", detail="run")
            if reaches_host(call, inner):
                return Stream(None)
        if len(inner.operands) > 1:
            return contained(call, str(inner.operands[0]), inner.operands[1:], marked=True)
        if verb == "exec":
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="exec without a command")
        return Stream(None)
    return follow(call, card)
