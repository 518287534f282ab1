"""Runs a plan on this machine: sandbox, supervisor, and what is taken back afterwards."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext

from redoma.base import own_directories, signals
from redoma.jail.kernel.syscalls import open_plain
from redoma.jail.protect import installation
from redoma.jail.supervisor.run import run
from redoma.model.errors import EngineFailed, UsageError
from redoma.model.grant import Writes
from redoma.model.message import Message
from redoma.model.request import PythonCall
from redoma.model.result import Result
from redoma.model.value import replace
from redoma.pipeline.this_host import refuse_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.overlay.store import Overlay
    from redoma.jail.supervisor.host import Host
    from redoma.jail.supervisor.start import Control
    from redoma.jail.supervisor.streams import Sink
    from redoma.model.change import Changes
    from redoma.model.grant import Grant, Launch, Limits, RunPlan
    from redoma.model.result import Exit


# What a program says that may not write or move what is mounted.
_REFUSED_BY_A_MOUNT = (b"ead-only file system", b"Errno 30]", b"EROFS", b"esource busy", b"EBUSY")


def execute(
    plan: RunPlan,
    host: Host,
    *,
    stdin: bytes | int | None = b"",
    sink: Sink | None = None,
    control: Control | None = None,
    wait_for_start: Callable[[], object] = lambda: None,
) -> Result:
    """The result of running a plan; a sandbox that cannot be built is an error, never a run.

    `wait_for_start` returns when the start of the run is on disk: the sandbox is built meanwhile,
    and the command begins after it, and not at all where it raises.
    """
    _refuse_links(plan.grant)
    _refuse_ours(plan.grant)
    refuse_unwaited()
    if plan.grant.secrets:
        from redoma.pipeline.secret_grants import with_secrets

        plan = with_secrets(plan)
    engine = host.engine(plan.engine)
    host.has_run = True
    if plan.grant.limits.file_size is not None:
        from redoma.jail.supervisor import limiter

        began = limiter.clock()
        limits = limiter.with_existing(plan.grant.limits, plan.grant)
    try:
        with engine.prepare(plan) as prepared:
            layer = prepared.overlay
            launch = prepared.launch
            if isinstance(plan.request.workload, PythonCall):
                from redoma.model.call import LARGEST

                launch = replace(launch, answers=LARGEST + 1)
            if plan.grant.limits.file_size is not None:
                launch = replace(launch, limits=replace(launch.limits, file_size=limits.file_size))
            with nullcontext() if control is None or not plan.terminal else control.lent():
                ended = run(
                    _with_secrets(launch, plan),
                    stdin=stdin,
                    sink=sink,
                    control=control,
                    wait_for_start=wait_for_start,
                    meanwhile=lambda: _load_what_follows(layer),
                    groups=host.groups(),
                    directory=layer.directory if layer is not None else plan.grant.workspace,
                )
            taken = prepared.settle()
            notes = (*prepared.notes, *ended.notes, *_about_ours(plan.grant, ended))
            changes = None
            if layer is not None:
                if control is not None:
                    control.over = True
                changes = _held(layer, plan.grant.limits)
                if changes.unread:
                    ended = replace(ended, limits_reached=(*ended.limits_reached, changes.unread))
            if plan.grant.limits.file_size is not None:
                ended = limiter.seen(ended, plan.grant, changes, began)
    except EngineFailed:
        host.forget(plan.engine)
        raise
    return Result(
        outcome=ended.outcome,
        exit=ended,
        enforcement=plan.enforcement,
        grant=plan.grant,
        held_back=taken,
        notes=notes,
        changes=changes,
    )


def _refuse_links(grant: Grant) -> None:
    """An error where what was given is reached through a link: it was not when it was given.

    Attack: a run in the directory above replaces a workspace by a link to somebody's keys.
    """
    for path in (grant.workspace, *grant.writable, *grant.readable):
        try:
            os.close(open_plain(path))
            linked = False
        except OSError as error:
            linked = error.errno == errno.ELOOP
            if error.errno == errno.ENOSYS:
                linked = os.path.realpath(path) != path
        if linked:
            raise EngineFailed(
                "{path} is reached through a link now, and leads elsewhere than it was given",
                path=path,
                hint="see what replaced it, and name the place itself",
            )


def _refuse_ours(grant: Grant) -> None:
    """An error where what may be written is our own: a policy may have given it, or it moved."""
    if grant.writes in (Writes.DIRECT, Writes.LAYER):
        refuse_ours(grant.workspace, "the workspace", elsewhere="WORKSPACE")
    for path in grant.writable:
        refuse_ours(path, "what may be written", "see filesystem.allowed_paths in your policy")
    # Attack: what we make there while the command runs is covered only if it was there before.
    written = tuple(f"{path}/" for path in (grant.workspace, *grant.writable))
    if os.path.realpath(own_directories.state()).startswith(written):
        own_directories.made_state()
    if os.path.realpath(own_directories.cache()).startswith(written):
        own_directories.made_cache()


def refuse_unwaited() -> None:
    """An error where the kernel throws away how our children end: we would wait for ever."""
    if signals.ignored(signals.SIGCHLD):
        raise UsageError(
            "this program ignores SIGCHLD, so nothing that it starts can be waited for",
            hint="set it back: signal.signal(signal.SIGCHLD, signal.SIG_DFL)",
        )


def _about_ours(grant: Grant, ended: Exit) -> tuple[str, ...]:
    """Says why something in the workspace could not be written, to whose command failed."""
    said = ended.stderr + ended.stdout
    if ended.code == 0 or not any(sign in said for sign in _REFUSED_BY_A_MOUNT):
        return ()
    ours = [p for p in installation.parts_below(grant.workspace) if not os.path.islink(p)]
    if not ours and grant.writes is Writes.DIRECT:
        return (
            "what your own tools obey is read-only in a direct run, unless its path is given to be"
            " written",
        )
    if not ours:
        return ()
    return (
        Message(
            "{path} is read-only here, since Redoma itself runs from it: change it without "
            "Redoma, or install Redoma elsewhere (pipx install redoma)",
            path=ours[0],
        ),
    )


def _with_secrets(launch: Launch, plan: RunPlan) -> Launch:
    """The same, with what its gate adds to requests; taken only when everything else stands.

    What the command prints is searched for all that it is given, or could be told back.
    """
    if plan.secrets:
        from redoma.base.secret_search import hidden_forms

        texts = [secret.reveal().strip() for secret in plan.secrets]
        launch = replace(launch, hidden=tuple({f for text in texts for f in hidden_forms(text)}))
    if launch.gate is None or not launch.gate.credentials:
        return launch
    from redoma.base.secret_search import hidden_forms
    from redoma.pipeline.secrets import secrets_of, texts_of

    given = launch.gate.credentials
    secrets = secrets_of(given)
    hidden = {form for text in texts_of(given, secrets) for form in hidden_forms(text)}
    return replace(launch, secrets=secrets, hidden=(*launch.hidden, *hidden))


def _load_what_follows(layer: Overlay | None) -> None:
    """Loads what reads a layer while the command runs: after a short one it would be waited for."""
    if layer is not None:
        pass


def _held(layer: Overlay, limits: Limits) -> Changes:
    """What a run's layer holds; one that holds nothing is not kept."""
    from redoma.jail.overlay.changes import read_changes
    from redoma.jail.overlay.store import put_aside

    try:
        changes = read_changes(layer, limits)
    except KeyboardInterrupt as stop:
        from redoma.pipeline.stored_changes import LET_GO

        stop.args = (LET_GO,)  # the layer is removed on the way out
        raise
    if not changes.held:
        put_aside(layer)
    return changes
