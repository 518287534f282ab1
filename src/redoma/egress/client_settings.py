"""What the settings of package managers and git say, read where each of them reads its own.

Only files of the caller and of the system are read. A project's own settings come with the project,
and whoever wrote it decides there: they are read apart, and nothing is granted by them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Settings = Mapping[str, list[str]]

_LARGEST = 1 << 20


def text_of(path: str) -> str:
    """A settings file, or nothing where there is none that can be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def home() -> str:
    """The caller's home directory."""
    return os.path.expanduser("~")


def config_home() -> str:
    """Where programs keep their settings below the home directory."""
    return os.environ.get("XDG_CONFIG_HOME") or f"{home()}/.config"


def pip_settings() -> Settings:
    """pip's settings of the system and the user, every section's under the bare name."""
    environ = os.environ
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return {}
    dirs = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    paths = [*(f"{each}/pip/pip.conf" for each in dirs), "/etc/pip.conf"]
    paths += [f"{home()}/.pip/pip.conf", f"{config_home()}/pip/pip.conf", named]
    return _ini(*paths)


def npm_settings() -> Settings:
    """npm's settings, which pnpm and the first yarn read as well."""
    environ = os.environ
    own = environ.get("NPM_CONFIG_USERCONFIG") or environ.get("npm_config_userconfig")
    wide = environ.get("NPM_CONFIG_GLOBALCONFIG") or environ.get("npm_config_globalconfig")
    paths = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"]
    return npmrc("\n".join(map(text_of, [*paths, wide or "", own or f"{home()}/.npmrc"])))


def git_settings() -> Settings:
    """git's settings of the system and the user, as `section.name` or `section.sub.name`."""
    paths = ["/etc/gitconfig", f"{config_home()}/git/config", f"{home()}/.gitconfig"]
    return git_config("\n".join(map(text_of, paths)))


def toml_settings(*paths: str) -> dict[str, object]:
    """The last of some TOML files that can be read."""
    found: dict[str, object] = {}
    for path in paths:
        text = text_of(path)
        if not text:
            continue
        import tomllib

        try:
            found.update(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            continue
    return found


def cargo_settings() -> dict[str, object]:
    """Cargo's settings of the user."""
    place = os.environ.get("CARGO_HOME") or f"{home()}/.cargo"
    return toml_settings(f"{place}/config", f"{place}/config.toml")


def npmrc(text: str) -> Settings:
    """The lines of an .npmrc: `name=value`, `name[]=value`, comments; `${NAME}` is a variable."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals or name.startswith((";", "#")):
            continue
        value = os.path.expandvars(value.strip().strip("\"'"))
        found.setdefault(name.strip().removesuffix("[]"), []).append(value)
    return found


def git_config(text: str) -> Settings:
    """The lines of a git configuration; what it includes from elsewhere is not followed."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        plain = line.strip()
        if plain.startswith("[") and "]" in plain:
            name, _, below = plain[1 : plain.rindex("]")].partition(" ")
            section = name.strip().lower() + (f".{_unquoted(below)}" if below.strip() else "")
            continue
        name, _, value = plain.partition("=")
        if plain and not plain.startswith(("#", ";")):
            found.setdefault(f"{section}.{name.strip().lower()}", []).append(_unquoted(value))
    return found


def _unquoted(value: str) -> str:
    return value.strip().strip('"').replace('\\"', '"').replace("\\\\", "\\")


def _ini(*paths: str) -> Settings:
    found: dict[str, list[str]] = {}
    for path in paths:
        text = text_of(path)
        if not text:
            continue
        from configparser import ConfigParser
        from configparser import Error as NotIni

        reader = ConfigParser(interpolation=None, strict=False)
        try:
            reader.read_string(text)
        except NotIni:
            continue
        for section in reader.sections():
            for name, value in reader.items(section):
                found.setdefault(name.replace("_", "-"), []).extend(value.split())
    return found


def certificate_files() -> Iterator[str]:
    """Files of certificates that the caller's programs are told to trust by their settings."""
    yield from pip_settings().get("cert", ())
    yield from npm_settings().get("cafile", ())
    for name, values in git_settings().items():
        if name.startswith("http.") and name.endswith("sslcainfo"):
            yield from values
    http = cargo_settings().get("http")
    if isinstance(http, dict) and isinstance(http.get("cainfo"), str):
        yield http["cainfo"]


def certificate_texts() -> Iterator[str]:
    """Certificates that stand in settings themselves, their lines written as `\\n`."""
    for value in npm_settings().get("ca", ()):
        yield value.replace("\\n", "\n")
