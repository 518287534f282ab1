"""What a container can reach: mounted places and the host's own parts; what runs inside it."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream
from redoma.judge.interpret.files import Files
from redoma.judge.interpret.paths import place_of
from redoma.model.risk import Effect, Fact, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

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


def reaches_host(call: Call, options: Options) -> bool:
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


def _note(call: Call, detail: str, at: Arg | None = None) -> None:
    call.fact(
        Effect.PRIVILEGE, tags=("container",), detail=detail, at=at.span if at is not None else None
    )


def _mount(call: Call, source: Arg, inside: str, readonly: bool) -> None:  # noqa: FBT001
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
    call: Call, words: list[Arg], mounts: list[tuple[Arg, str, bool]]
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


def contained(call: Call, name: str, words: list[Arg], *, marked: bool) -> Stream:
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
        for index in range(start, len(walker.facts)):
            fact = walker.facts[index]
            walker.facts[index] = Fact(
                effect=fact.effect,
                span=fact.span,
                program=fact.program,
                targets=fact.targets,
                tags=fact.tags | {"contained"},
                detail=fact.detail,
            )
    return out
