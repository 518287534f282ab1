"""Containers: what runs inside is judged as such, and what reaches out of them is named."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, UNKNOWN, Arg, Stream
from redoma.judge.interpret.files import Files
from redoma.judge.interpret.places import place_of
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import card_named, card_words, follow, options_of
from redoma.judge.programs.options import split
from redoma.judge.text.glob import has_glob
from redoma.model.decision import Effect, Place, Target
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_GROUPS = frozenset(("container", "image", "buildx", "builder"))
_ADDRESS = re.compile(r"(?:https?|git|ssh|ftp)://|git@|github\.com/")
_EVERY = re.compile(
    r"(?:docker|podman|nerdctl)\s+(?:container\s+|volume\s+|image\s+)?(?:ps|ls|images)\b(?![^|;&)`]*(?:--filter|\s-f\s|--last))"
    r"[^|;&)`]*?\s-\w*q"
)


def docker(call: Invocation) -> Stream:
    """`docker`, `podman`, `nerdctl`: what runs, mounts, copies or builds; a card for the rest."""
    options = split(call.args, card_words(call, "global"), stops=True)
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
        if verb in ("rm", "rmi", "stop", "kill", "volume", "remove", "network")
        else _by_card(call)
    )


def _told(call: Invocation) -> Stream:
    call.fact(Effect.READS, tags=("about",))
    return Stream(None)


def _by_card(call: Invocation) -> Stream:
    options = options_of(call)
    verbs = {str(word) for word in options.operands[:2]}
    if verbs & {"save", "export", "config"}:
        for target in options.values("-o", "--output"):
            call.writes(target)
    if verbs & {"load", "import"} and call.stdin.taint & NETWORK:
        do(call, "fetch")
    return follow(call)


def _removal(call: Invocation) -> Stream:
    """Removing or stopping: with a list of everything that exists it is everything."""
    noted = len(call.walker.facts)
    out = _by_card(call)
    _mark_named(call, noted)
    removes = any(word in ("rm", "rmi", "volume", "remove") for word in call.args[:3])
    unknown = any(UNKNOWN in word for word in call.args)
    if unknown and _EVERY.search(call.walker.text[:4096]):
        do(call, "wreck" if removes else "destroy", detail="of all there is")
    return out


def _mark_named(call: Invocation, noted: int) -> None:
    """What is named, every word of it known, is no volume and nothing that stands for more."""
    options = options_of(call)
    groups = [str(w) for w in options.operands[:2] if w in _NAMED_GROUPS]
    rest = options.operands[len(groups) :]
    if not rest or rest[0] not in _ENDS:
        return
    words = rest[1:]
    plain = words and all(w.known and not has_glob(w) for w in words)
    if not plain or options.has("-v", "--volumes", "-a", "--all") or "volume" in options.operands:
        return
    facts = call.walker.facts
    facts[noted:] = [replace(f, tags=f.tags | {"named"}) for f in facts[noted:]]


_NAMED_GROUPS = frozenset("container network pod compose".split())
_ENDS = frozenset("rm stop kill remove".split())


def _run(call: Invocation, words: list[Arg]) -> Stream:
    options = options_of(call, words, card_named(call, "docker run"))
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


def _flags(call: Invocation, options: ProgramOptions) -> None:
    for value in options.values("--env-file", "--label-file"):
        call.reads(value)
    for value in options.values("--cidfile", "--pod-id-file"):
        call.writes(value)
    for value in options.values("--health-cmd"):
        contained(call, "container", [value.like("sh"), value.like("-c"), value], marked=True)


def _exec(call: Invocation, words: list[Arg]) -> Stream:
    options = options_of(call, words, card_named(call, "docker run"))
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


def _build(call: Invocation, words: list[Arg]) -> Stream:
    options = options_of(call, words, card_named(call, "docker build"))
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


def _copy(call: Invocation, words: list[Arg]) -> Stream:
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


def compose(call: Invocation, words: list[Arg] | None = None) -> Stream:
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
        inner = options_of(call, front.operands[1:], card_named(call, "docker run"))
        if verb == "run":
            do(call, "container", detail="run")
            if reaches_host(call, inner):
                return Stream(None)
        if len(inner.operands) > 1:
            return contained(call, str(inner.operands[0]), inner.operands[1:], marked=True)
        if verb == "exec":
            call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="exec without a command")
        return Stream(None)
    noted = len(call.walker.facts)
    out = follow(call, card)
    if verb in ("rm", "stop", "kill"):
        _mark_named(call, noted)
    return out


_SOCKETS = ("docker.sock", "podman.sock", "containerd.sock", "crio.sock", "dockerd.sock")
_CAPABILITIES = frozenset(
    "ALL SYS_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO DAC_READ_SEARCH DAC_OVERRIDE SYS_BOOT SYS_TIME "
    "NET_ADMIN "
    "BPF PERFMON SYSLOG MAC_ADMIN".split()
)
_HARMLESS_SOURCES = frozenset(
    "/etc/localtime /etc/timezone /etc/ssl/certs /etc/resolv.conf /etc/hosts /usr/share/zoneinfo "
    "/etc/passwd /etc/group /tmp/.X11-unix /lib/modules /etc/ca-certificates /etc/pki".split()
)
_DEEP = frozenset((Place.ROOT, Place.SYSTEM_TREE, Place.DEVICE, Place.SYSTEM, Place.HOME_ROOT))


def mount_of(word: Arg) -> tuple[Arg, str, bool] | None:
    """Source, place inside and read-only or not, of `-v` or `--mount`; None for a named volume."""
    if ("=" in word and "," in word) or word.startswith("type="):
        parts = dict(part.partition("=")[::2] for part in word.split(","))
        source = parts.get("src") or parts.get("source") or ""
        inside = parts.get("dst") or parts.get("target") or parts.get("destination") or ""
        if parts.get("type", "volume") != "bind" and not source.startswith(("/", ".", "~")):
            return None
        readonly = "readonly" in parts or "ro" in parts
        return (word.like(source), inside, readonly) if source and inside else None
    pieces = word.split(":")
    if len(pieces) < 2:
        return None
    source, inside = pieces[0], pieces[1]
    if not source.startswith(("/", ".", "~", UNKNOWN)):
        return None
    return word.like(source), inside, "ro" in pieces[2].split(",") if len(pieces) > 2 else False


def reaches_host(call: Invocation, options: ProgramOptions) -> bool:
    """Notes each way out of the container that the options open; says whether there is one."""
    before = len(call.walker.facts)
    if options.has("--privileged"):
        _note(call, "--privileged")
    for name in ("--pid", "--userns", "--uts", "--cgroupns", "--ipc"):
        if "host" in options.values(name):
            _note(call, f"{name}=host")
    for value in options.values("--cap-add"):
        if value.upper().removeprefix("CAP_") in _CAPABILITIES:
            _note(call, f"--cap-add {value}")
    for value in options.values("--security-opt"):
        if "unconfined" in value or value in (
            "label=disable",
            "label:disable",
            "no-new-privileges=false",
        ):
            _note(call, f"--security-opt {value}")
    for value in options.values("--device"):
        if not value.startswith(
            ("/dev/fuse", "/dev/dri", "/dev/snd", "/dev/kvm", "/dev/null", "/dev/net/tun")
        ):
            _note(call, f"--device {value}")
    for word in options.values("-v", "--volume", "--mount"):
        mount = mount_of(word)
        if mount is not None:
            _mount(call, *mount)
    return len(call.walker.facts) > before


def _note(call: Invocation, detail: str, at: Arg | None = None) -> None:
    call.fact(
        Effect.PRIVILEGE, tags=("container",), detail=detail, at=at.span if at is not None else None
    )


def _mount(call: Invocation, source: Arg, inside: str, readonly: bool) -> None:  # noqa: FBT001
    path = call.path(source)
    if path.endswith(_SOCKETS):
        _note(call, f"the socket {source}", source)
        return
    if path in _HARMLESS_SOURCES and readonly:
        return
    target, _ = call.written_target(source)
    if target.place in _DEEP:
        _note(call, f"{source} mounted at {inside}", source)
    elif target.place in (Place.SECRET, Place.STARTUP, Place.GUARD):
        call.reads(source)
        if not readonly:
            _note(call, f"{source} mounted at {inside}", source)
    elif target.place in (Place.HOME, Place.OUTSIDE) and not readonly:
        call.fact(
            Effect.WRITES,
            Target(text=source, place=place_of(path, call.walker.ground)),
            at=source.span,
        )


def mounted_words(
    call: Invocation, words: list[Arg], mounts: list[tuple[Arg, str, bool]]
) -> list[Arg] | None:
    """The inner command with places inside put back to what they are on this machine."""
    changed = False
    out = list(words)
    for source, inside, readonly in mounts:
        if not inside.strip("/") or readonly:
            continue
        outside = call.path(source)
        pattern = re.compile(rf"(?<![\w./-]){re.escape(inside.rstrip('/'))}(?=$|[/\s;&|)'\"*])")
        for index, word in enumerate(out):
            put = pattern.sub(outside.replace("\\", r"\\"), word)
            if put != word:
                out[index] = word.like(re.sub(r"/{2,}", "/", put) if put.startswith("/") else put)
                changed = True
    return out if changed else None


POD = "pod"


def contained(call: Invocation, name: str, words: list[Arg], *, marked: bool) -> Stream:
    """Judges a command that runs in a container; `marked` facts stay inside it."""
    walker = call.walker
    before, files, start = walker.elsewhere, walker.files, len(walker.facts)
    walker.elsewhere = name or "container"
    walker.files = Files()
    # Its options were already split off; a leading `--` is only a separator.
    inner = words[1:] if words and words[0] == "--" else words
    try:
        out = call.run_args(inner) if inner else Stream(None)
    finally:
        walker.elsewhere = before
        walker.files = files
    if inner:
        # What a program of that name does in there, nobody here has seen.
        call.fact(Effect.EXECUTES, tags=("inside",), detail=name)
    if marked:
        tags = frozenset(("contained", "cluster") if name == POD else ("contained",))
        walker.facts[start:] = [replace(f, tags=f.tags | tags) for f in walker.facts[start:]]
    return out
