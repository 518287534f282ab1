"""Settings files read and replaced: whole or not at all, and only where they seem to be."""

from __future__ import annotations

import os
import stat

from redoma.cli.streams import MOST_BYTES
from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message
from redoma.model.value import Value

SCOPES = ("user", "project", "local")


class SettingsPlace(Value):
    """A settings file; `within` is the directory it must really lie in, if there is one."""

    agent: str
    scope: str
    path: str
    within: str | None = None

    @property
    def is_toml(self) -> bool:
        return self.path.endswith(".toml")


def places(agent: str, scope: str) -> list[SettingsPlace]:
    """The files that may hold our hook, the usual one first."""
    if scope == "user":
        folder, within = _user_folder(agent), None
    elif scope == "local" and agent != "claude-code":
        raise UsageError(
            "{agent} has no local settings", agent=agent, hint="use --project or --user"
        )
    else:
        within = os.getcwd()
        folder = os.path.join(within, _folder_name(agent))
    names = _file_names(agent, scope)
    return [
        SettingsPlace(agent=agent, scope=scope, path=os.path.join(folder, name), within=within)
        for name in names
    ]


def scopes(agent: str) -> tuple[str, ...]:
    """The scopes that an agent knows."""
    return SCOPES if agent == "claude-code" else SCOPES[:2]


def _file_names(agent: str, scope: str) -> tuple[str, ...]:
    if agent == "codex":
        return ("hooks.json", "config.toml")
    return ("settings.local.json",) if scope == "local" else ("settings.json",)


def _folder_name(agent: str) -> str:
    return {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini"}[agent]


def _user_folder(agent: str) -> str:
    """The agent's own folder of this user, where the agent's environment variable may move it."""
    home = os.environ.get("HOME", "")
    if agent == "claude-code" and os.environ.get("CLAUDE_CONFIG_DIR"):
        return os.path.abspath(os.environ["CLAUDE_CONFIG_DIR"])
    if agent == "codex" and os.environ.get("CODEX_HOME"):
        return os.path.abspath(os.environ["CODEX_HOME"])
    if agent == "gemini":
        home = os.environ.get("GEMINI_CLI_HOME", home)
    if not os.path.isabs(home):
        raise UsageError("HOME is not set, so the user's settings cannot be found")
    return os.path.join(home, _folder_name(agent))


BACKUP = ".before-redoma"


class Kept(Value):
    """A settings file as it was found; `text` is None where there is no file."""

    place: SettingsPlace
    real: str
    text: str | None
    mode: int | None = None
    owner: tuple[int, int] | None = None

    @property
    def backup(self) -> str:
        return self.real + BACKUP

    @property
    def is_link(self) -> bool:
        return self.real != self.place.path


def read_place(place: SettingsPlace) -> Kept:
    """The file at a place, its links followed; refuses one that leads out of the project.

    Attack: a repository brings `.claude/settings.json` as a link to a file of its user, who then
    installs the hook for the project.
    """
    folder, name = os.path.split(place.path)
    real = os.path.realpath(place.path)
    if place.within is not None:
        inside = os.path.realpath(place.within)
        if os.path.commonpath([inside, real]) != inside:
            raise UsageError(
                "{path} is a link to {real}, outside the project",
                path=place.path,
                real=real,
                hint=Message("look at it: ls -l {path}", path=place.path),
            )
    elif os.path.realpath(folder) == os.path.dirname(real) and os.path.basename(real) == name:
        real = place.path  # only the way there has links (a linked home): nothing to tell
    try:
        found = os.stat(real)
        if not stat.S_ISREG(found.st_mode):
            raise UsageError("{real} is not a file", real=real)
        text = _file_text(real)
    except FileNotFoundError:
        return Kept(place=place, real=real, text=None)
    except OSError as error:
        raise RedomaError("cannot read {path}: {why}", path=real, why=error.strerror) from error
    return Kept(
        place=place,
        real=real,
        text=text,
        mode=stat.S_IMODE(found.st_mode),
        owner=(found.st_uid, found.st_gid),
    )


def read_backup(kept: Kept) -> str | None:
    """What the file was before us, where that is known."""
    try:
        return _file_text(kept.backup)
    except (OSError, UsageError):
        return None


def _file_text(path: str) -> str:
    # Attack: the backup's name may be a link that somebody put there.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError("{path} is too large to be settings", path=path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("{path} is not valid UTF-8", path=path) from error


def write(kept: Kept, text: str) -> None:
    """Puts the text in place of the file in one step, with its mode and owner.

    An agent may write its settings while we do: what was not read is not overwritten.
    """
    if read_place(kept.place).text != kept.text:
        raise RedomaError(
            "{real} was changed by someone else just now", real=kept.real, hint="try again"
        )
    try:
        os.makedirs(os.path.dirname(kept.real), exist_ok=True)
        replace(kept.real, text, kept)
    except OSError as error:
        raise RedomaError(
            "cannot write {path}: {why}", path=kept.real, why=error.strerror
        ) from error


def write_backup(kept: Kept) -> None:
    """Keeps the file as it is now beside itself."""
    try:
        replace(kept.backup, kept.text or "", kept)
    except OSError as error:
        raise RedomaError(
            "cannot write {path}: {why}", path=kept.backup, why=error.strerror
        ) from error


def replace(path: str, text: str, like: Kept) -> None:
    """A new file in place of the old: written beside it, made durable, renamed over it."""
    temporary = f"{path}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666 if like.mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            if like.mode is not None:
                _give_back(handle, like)
            os.fsync(handle)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _give_back(handle: int, like: Kept) -> None:
    if like.owner is not None and like.owner != (os.geteuid(), os.getegid()):
        try:
            os.fchown(handle, *like.owner)
        except PermissionError:
            # Another user's file that we may replace but not give away: better ours and whole.
            return
    if like.mode is not None:
        os.fchmod(handle, like.mode)


def delete(path: str) -> None:
    """Removes a file, if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RedomaError("cannot remove {path}: {why}", path=path, why=error.strerror) from error
