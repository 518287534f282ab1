"""`tool:NAME` grants what the caller's own settings name, to fetch from; a project's grant nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from redoma.egress.host_rules import read
from redoma.model.errors import UsageError
from redoma.pipeline import tool_sources
from redoma.pipeline.tool_grants import ToolGrants, expanded

_VARIABLES = [
    *(("pip", "PIP_INDEX_URL"), ("uv", "UV_DEFAULT_INDEX"), ("uv", "UV_INDEX_URL")),
    *(("npm", "npm_config_registry"), ("go", "GOPROXY"), ("yarn", "YARN_REGISTRY")),
    ("cargo", "CARGO_REGISTRIES_M_INDEX"),
]
_READ_BY_THEM = ("PIP_", "UV_", "NPM_", "npm_", "YARN_", "CARGO_", "GOPROXY", "GOSUMDB", "GOENV")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith((*_READ_BY_THEM, "XDG_CONFIG")):
            monkeypatch.delenv(name)
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    # Where no client is installed, none has a default.
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def put(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def grants(tool: str, project: Path) -> ToolGrants:
    found = expanded([f"tool:{tool}"], str(project))
    assert len(read(found.hosts).hosts) == len(found.hosts)
    return found


@pytest.mark.parametrize(
    ("tool", "file", "text", "hosts", "env"),
    [
        (
            "pip",
            ".config/pip/pip.conf",
            "[global]\nindex-url = https://mirror.test/simple\nextra-index-url =\n  https://b.test/x\n",
            ("GET mirror.test", "GET b.test"),
            {"PIP_INDEX_URL": "https://mirror.test/simple", "PIP_EXTRA_INDEX_URL": "https://b.test/x"},
        ),
        (
            "uv",
            ".config/uv/uv.toml",
            '[[index]]\nurl = "https://m.test:8443/simple"\ndefault = true\n[[index]]\nurl = "https://b.test/s"\n',
            ("GET m.test:8443", "GET b.test"),
            {"UV_DEFAULT_INDEX": "https://m.test:8443/simple", "UV_INDEX": "https://b.test/s"},
        ),
        (
            "npm",
            ".npmrc",
            "registry=https://npm.test/\n@corp:registry=https://corp.test/npm/\n//npm.test/:_authToken=x\n",
            ("GET npm.test", "GET corp.test"),
            {"npm_config_registry": "https://npm.test/", "npm_config_@corp:registry": "https://corp.test/npm/"},
        ),
        ("pnpm", ".npmrc", "registry=http://npm.test/\n", ("GET npm.test",), {"npm_config_registry": "http://npm.test/"}),
        (
            "yarn",
            ".yarnrc.yml",
            'npmRegistryServer: "https://y.test"\n',
            ("GET y.test",),
            dict.fromkeys(("YARN_NPM_REGISTRY_SERVER", "YARN_REGISTRY", "npm_config_registry"), "https://y.test"),
        ),
        (
            "cargo",
            ".cargo/config.toml",
            '[source.crates-io]\nreplace-with = "m"\n[source.m]\nregistry = "sparse+https://c.test/i/"\n',
            ("GET c.test",),
            {},
        ),
        (
            "go",
            ".config/go/env",
            "GOPROXY=https://g.test,direct\nGOSUMDB=sums.test\n",
            ("GET g.test", "GET sums.test"),
            {"GOPROXY": "https://g.test,direct", "GOSUMDB": "sums.test"},
        ),
        # A service of this machine, and an address, are reached as such.
        ("pip", ".pip/pip.conf", "[global]\nindex_url=http://localhost:3141/root\n", ("localhost:3141",), {"PIP_INDEX_URL": "http://localhost:3141/root"}),
        ("npm", ".npmrc", "registry=http://10.1.2.3:4873/\n", ("10.1.2.3:4873",), {"npm_config_registry": "http://10.1.2.3:4873/"}),
    ],
)  # fmt: skip
def test_a_client_s_own_settings_say_whom_it_fetches_from(
    home: Path, project: Path, tool: str, file: str, text: str, hosts: tuple[str, ...], env: dict[str, str]
) -> None:  # fmt: skip
    put(home / file, text)
    found = grants(tool, project)
    assert (found.hosts, dict(found.env)) == (hosts, env)
    assert found.notes == (f"tool:{tool} grants {', '.join(hosts)}",)


@pytest.mark.parametrize(
    ("tool", "name"),
    _VARIABLES,
)
def test_a_variable_says_it_too(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tool: str, name: str
) -> None:
    monkeypatch.setenv(name, "https://mirror.test/simple")
    assert grants(tool, project).hosts == ("GET mirror.test",)


def test_a_client_that_is_not_here_and_was_told_nothing_has_nobody_to_ask(
    home: Path, project: Path
) -> None:
    with pytest.raises(UsageError, match="tool:npm names no host") as error:
        expanded(["tool:npm"], str(project))
    assert "install npm" in str(error.value.hint)


@pytest.mark.both_users
def test_a_client_that_was_told_nothing_is_asked_for_its_default(
    home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = shutil.which("npm", path="/usr/local/bin:/usr/bin")
    if npm is None:
        pytest.skip("npm is not here")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [npm, "config", "get", "registry"]
    says = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    monkeypatch.setenv("PATH", env["PATH"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    put(home / ".npmrc", "@corp:registry=https://corp.test/\n")
    # Attack: what a project says is not what the client says by itself.
    put(project / ".npmrc", "registry=https://evil.test/\n")
    default = says.stdout.strip().removeprefix("https://").removesuffix("/")
    for _ in range(2):  # the second time it is known
        first, second = grants("npm", project).hosts
        assert (first, second.partition("=")[0]) == ("GET corp.test", f"GET {default}")


def test_passwords_in_settings_stay_outside(home: Path, project: Path) -> None:
    put(home / ".config/pip/pip.conf", "[global]\nindex-url=https://me:s3cret@m.test/simple\n")
    found = grants("pip", project)
    assert found.hosts == ("GET m.test",)
    assert dict(found.env) == {"PIP_INDEX_URL": "https://m.test/simple"}
    assert "s3cret" not in str(found)
    assert "--credential m.test=basic:VARIABLE" in found.notes[-1]


@pytest.mark.parametrize(
    ("tool", "file", "text"),
    [
        ("npm", ".npmrc", "registry=https://evil.test/\n"),
        ("pip", "requirements.txt", "--index-url https://evil.test/simple\nsix\n"),
        ("uv", "pyproject.toml", '[[tool.uv.index]]\nurl = "https://evil.test/s"\n'),
        ("yarn", ".yarnrc.yml", "npmRegistryServer: https://evil.test\n"),
        ("cargo", ".cargo/config.toml", '[registries.x]\nindex = "sparse+https://evil.test/"\n'),
        ("git", ".gitmodules", '[submodule "x"]\n\turl = https://evil.test/x.git\n'),
    ],
)
def test_a_project_s_own_settings_grant_nothing_and_are_told_of(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tool: str, file: str, text: str
) -> None:
    # Attack: a project names a host of its author's, and whoever grants a tool grants that.
    put(project / file, text)
    monkeypatch.setenv(dict(_VARIABLES).get(tool, "NOTHING"), "https://own.test/")
    put(project / ".git/config", '[remote "origin"]\n\turl = https://git.test/a/b.git\n')
    found = grants(tool, project)
    assert "evil" not in str((found.hosts, found.env))
    assert (
        f"the project's {file} names evil.test, which tool:{tool} does not grant" in found.notes[1]
    )
    assert "--allow-host evil.test if you mean it" in found.notes[1]


def test_apt_s_lists_are_read_in_both_forms() -> None:
    lines = "# deb https://no.test/x s main\ndeb [arch=amd64 signed-by=/k] https://a.test/d s main\ndeb-src http://b.test/d s\n"
    assert list(tool_sources.one_line(lines)) == ["https://a.test/d", "http://b.test/d"]
    stanzas = (
        "Types: deb\nURIs: https://c.test/d\n https://d.test/d\nSuites: s\n\n"
        "# about\nEnabled: no\nURIs: https://no.test/\n\nURIs: http://e.test/d\n"
    )
    assert list(tool_sources.deb822(stanzas)) == [
        *("https://c.test/d", "https://d.test/d", "http://e.test/d")
    ]


def test_git_fetches_from_this_repository_s_remotes_and_pushes_nowhere(
    home: Path, project: Path
) -> None:
    put(home / ".gitconfig", '[url "https://git.test/"]\n\tinsteadOf = corp:\n')
    put(
        project / ".git/config",
        '[core]\n\tbare = false\n[remote "origin"]\n\turl = corp:a/b.git\n'
        '[remote "other"]\n\turl = git@ssh.test:a/b.git\n[remote "here"]\n\turl = /srv/x\n',
    )
    (project / "below").mkdir()
    assert grants("git", project / "below").hosts == (
        "GET git.test/a/b.git/info/refs",
        "POST git.test/a/b.git/git-upload-pack",
        "ssh.test:22",
    )


def test_more_than_fetching_is_granted_where_it_is_said(home: Path, project: Path) -> None:
    put(home / ".npmrc", "registry=https://npm.test/\n")
    assert expanded(["GET,PUT tool:npm"], str(project)).hosts == ("GET,PUT npm.test",)
    # Without being read: any request, and no certificates of ours.
    assert expanded(["tool:npm:*", "a.test"], str(project)).hosts == ("npm.test", "a.test")


@pytest.mark.parametrize(
    "text", ["tool:", "tool:emacs", "tool:pip:443", "get tool:pip", "tool:PIP"]
)
def test_a_tool_that_is_not_known_is_an_error_that_names_those_that_are(
    home: Path, project: Path, text: str
) -> None:
    with pytest.raises(UsageError, match="is not known") as error:
        expanded([text], str(project))
    assert "apt, cargo, git, go, npm, pip, pnpm, uv, yarn" in str(error.value.hint)


def test_a_directory_without_remotes_has_nobody_to_fetch_from(home: Path, project: Path) -> None:
    with pytest.raises(UsageError, match="tool:git names no host") as error:
        expanded(["tool:git"], str(project))
    assert "git remote -v" in str(error.value.hint)


def test_a_mirror_in_a_private_network_is_granted_where_it_is(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at(*addresses: str) -> tuple[str, ...]:
        found = [(2, 1, 6, "", (each, 0)) for each in addresses]
        monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: found)
        return grants("npm", project).hosts

    put(home / ".npmrc", "registry=https://npm.corp.test/\n")
    assert at("10.1.2.3") == ("GET npm.corp.test=10.1.2.3/32",)
    assert at("fd12::3") == ("GET npm.corp.test=fd12::3/128",)
    assert at("93.184.216.34") == ("GET npm.corp.test",)
    # Attack: the name is pointed at this machine, or at where a cloud hands out credentials.
    for never in ("127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "100.100.100.200"):
        assert at(never) == ("GET npm.corp.test",)
    assert at("10.1.2.3", "93.184.216.34") == ("GET npm.corp.test",)
