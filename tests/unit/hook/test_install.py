"""Installing keeps what is there, twice is once, and uninstalling leaves no trace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from redoma import hook
from redoma.hook import entry
from redoma.hook import settings_change as changes
from redoma.model.errors import RedomaError
from tests.unit.cli.running import START
from tests.unit.hook.payloads import claude

FILES = {
    ("claude-code", "user"): "home/.claude/settings.json",
    ("claude-code", "project"): "project/.claude/settings.json",
    ("claude-code", "local"): "project/.claude/settings.local.json",
    ("codex", "user"): "home/.codex/hooks.json",
    ("codex", "project"): "project/.codex/hooks.json",
    ("gemini", "user"): "home/.gemini/settings.json",
    ("gemini", "project"): "project/.gemini/settings.json",
}
EVENTS = {"claude-code": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project of their own; the test stands in the project."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def tree(root: Path) -> dict[str, str]:
    """Every file below, with its content."""
    return {
        str(path.relative_to(root)): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(("agent", "scope"), FILES)
def test_a_new_file_holds_one_group_for_the_agents_event(
    agent: str, scope: str, world: Path
) -> None:
    assert hook.main(["install", "--judge-only", agent, f"--{scope}"]) == 0
    assert list(tree(world)) == [FILES[agent, scope]]
    settings = json.loads((world / FILES[agent, scope]).read_text())
    group = settings["hooks"][EVENTS[agent]][0]
    assert settings == {"hooks": {EVENTS[agent]: [group]}}
    assert group == entry.group(agent, [])


@pytest.mark.parametrize(("agent", "scope"), FILES)
def test_twice_is_once_and_uninstalling_leaves_nothing(agent: str, scope: str, world: Path) -> None:
    hook.main(["install", "--judge-only", agent, f"--{scope}"])
    once = tree(world)
    assert hook.main(["install", "--judge-only", agent, f"--{scope}"]) == 0
    assert tree(world) == once
    assert hook.main(["uninstall", agent, f"--{scope}"]) == 0
    assert tree(world) == {}


BEFORE = '{"model" : "opus",\n "n": 1.50, "hooks": { "PreToolUse": [\n {"hooks": []} ] } }'


def test_uninstalling_gives_back_every_byte(world: Path) -> None:
    path = write(world / FILES["claude-code", "user"], BEFORE)
    hook.main(["install", "--judge-only", "claude-code"])
    assert path.read_text() != BEFORE
    assert path.with_name("settings.json.before-redoma").read_text() == BEFORE
    hook.main(["uninstall", "claude-code"])
    assert tree(world) == {FILES["claude-code", "user"]: BEFORE}


def test_what_came_after_us_stays_when_we_go(world: Path) -> None:
    path = write(world / FILES["claude-code", "user"], '{\n  "a": 1\n}\n')
    hook.main(["install", "--judge-only", "claude-code"])
    settings = json.loads(path.read_text())
    theirs = {"type": "command", "command": "/bin/true"}
    settings["hooks"]["PreToolUse"][0]["hooks"].append(theirs)
    settings["b"] = 2
    path.write_text(json.dumps(settings))
    assert hook.main(["uninstall", "claude-code"]) == 0
    matcher = entry.MATCHERS["claude-code"]
    assert json.loads(path.read_text()) == {
        "a": 1,
        "hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [theirs]}]},
        "b": 2,
    }


def test_another_installation_is_brought_up_to_date_and_not_doubled(world: Path) -> None:
    path = write(world / FILES["claude-code", "user"], BEFORE)
    hook.main(["install", "--judge-only", "claude-code", "--tighten-only"])
    hook.main(["install", "--judge-only", "claude-code", "--pack", "skill", "--no-ask"])
    groups = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert groups == [{"hooks": []}, entry.group("claude-code", ["--no-ask", "--pack", "skill"])]
    hook.main(["uninstall", "claude-code"])
    assert path.read_text() == BEFORE


def test_a_dry_run_shows_the_change_and_makes_none(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(world / FILES["claude-code", "user"], BEFORE)
    before = tree(world)
    assert hook.main(["install", "--judge-only", "claude-code", "--dry-run"]) == 0
    assert tree(world) == before
    out = capsys.readouterr().out
    assert out.startswith("--- ")
    assert "+" in out
    assert "hook claude-code" in out


def test_json_says_what_was_done(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook.main(["install", "codex", "--json"])
    said = json.loads(capsys.readouterr().out)
    path = str(world / FILES["codex", "user"])
    assert (said["agent"], said["scope"], said["path"]) == ("codex", "user", path)
    assert (said["changed"], said["dry_run"], said["backup"]) == (True, False, None)
    assert any("/hooks" in note for note in said["notes"])
    hook.main(["install", "codex", "--json"])
    assert json.loads(capsys.readouterr().out)["changed"] is False


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // mine\n  "a": 1\n}',
        '{"a": 1,}',
        "[]",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        "\ufeff{}",
    ],
    ids=["comment", "trailing comma", "a list", "hooks a list", "event an object", "mark"],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone_and_the_entry_is_shown(
    text: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(world / FILES["claude-code", "user"], text)
    before = tree(world)
    assert hook.main(["install", "--judge-only", "claude-code"]) == 2
    assert tree(world) == before
    said = capsys.readouterr()
    assert said.out == ""
    assert str(world / FILES["claude-code", "user"]) in said.err


def test_comments_are_named_and_the_entry_is_offered(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(world / FILES["gemini", "user"], '{\n  // mine\n  "a": 1\n}')
    assert hook.main(["install", "--judge-only", "gemini"]) == 2
    said = capsys.readouterr().err
    assert "has comments" in said
    assert '"BeforeTool"' in said
    assert "run_shell_command" in said


def test_mode_is_kept_and_no_other_file_is_left(world: Path) -> None:
    path = write(world / FILES["claude-code", "user"], "{}")
    path.chmod(0o640)
    hook.main(["install", "--judge-only", "claude-code"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(path.parent)) == ["settings.json", "settings.json.before-redoma"]
    assert stat.S_IMODE(path.with_name("settings.json.before-redoma").stat().st_mode) == 0o640


def test_a_file_that_someone_else_writes_meanwhile_is_not_overwritten(world: Path) -> None:
    path = write(world / FILES["claude-code", "user"], "{}")
    change = changes.install("claude-code", "user", [])
    path.write_text('{"model": "opus"}')
    with pytest.raises(RedomaError):
        changes.carry_out(change)
    assert path.read_text() == '{"model": "opus"}'


def test_a_users_link_is_followed_and_said(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = write(world / "dotfiles/claude.json", "{}\n")
    link = world / FILES["claude-code", "user"]
    link.parent.mkdir()
    link.symlink_to(real)
    assert hook.main(["install", "--judge-only", "claude-code"]) == 0
    assert link.is_symlink()
    assert "hooks" in json.loads(real.read_text())
    assert f"{link} is a link; the file changed is {real}" in capsys.readouterr().err
    hook.main(["uninstall", "claude-code"])
    assert real.read_text() == "{}\n"


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_projects_link_to_the_outside_is_not_followed(linked: str, world: Path) -> None:
    target = write(world / "home/.claude/settings.json", "{}")
    place = world / FILES["claude-code", "project"]
    if linked == "file":
        place.parent.mkdir()
        place.symlink_to(target)
    else:
        place.parent.symlink_to(target.parent)
    assert hook.main(["install", "--judge-only", "claude-code", "--project"]) == 2
    assert target.read_text() == "{}"


def test_agents_that_live_elsewhere_are_found(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world / "c"))
    monkeypatch.setenv("CODEX_HOME", str(world / "x"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(world / "g"))
    for agent in EVENTS:
        hook.main(["install", "--judge-only", agent])
    assert list(tree(world)) == ["c/settings.json", "g/.gemini/settings.json", "x/hooks.json"]


CONFIG = """# mine
model = "gpt-5"  # best

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "say"
"""


def test_codex_hooks_in_toml_get_a_block_beside_them_and_keep_their_comments(world: Path) -> None:
    path = write(world / "home/.codex/config.toml", CONFIG)
    assert hook.main(["install", "codex"]) == 0
    assert path.read_text().startswith(CONFIG)
    settings = tomllib.loads(path.read_text())
    assert settings["hooks"]["PreToolUse"] == [entry.group("codex", [])]
    assert settings["hooks"]["Stop"] == tomllib.loads(CONFIG)["hooks"]["Stop"]
    once = tree(world)
    hook.main(["install", "codex"])
    assert tree(world) == once
    hook.main(["uninstall", "codex"])
    assert tree(world) == {"home/.codex/config.toml": CONFIG}


def test_a_toml_block_goes_even_when_the_file_has_changed_since(world: Path) -> None:
    path = write(world / "home/.codex/config.toml", CONFIG)
    hook.main(["install", "codex"])
    path.write_text("# first\n" + path.read_text() + "\n[tools]\nweb = true\n")
    hook.main(["uninstall", "codex"])
    assert path.read_text() == "# first\n" + CONFIG + "\n[tools]\nweb = true\n"


def test_toml_that_a_block_cannot_add_to_is_left_alone(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "hooks = { PreToolUse = [] , Stop = [1] }\n"
    path = write(world / "home/.codex/config.toml", text)
    assert hook.main(["install", "codex"]) == 2
    assert path.read_text() == text
    assert "[[hooks.PreToolUse]]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("agent", "file", "text"),
    [
        ("claude-code", "home/.claude/settings.json", '{"disableAllHooks": true}'),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n"),
        ("gemini", "home/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}'),
    ],
)
def test_hooks_that_are_switched_off_are_pointed_out(
    agent: str, file: str, text: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(world / file, text)
    hook.main(["install", "--judge-only", agent])
    assert "switches hooks off" in capsys.readouterr().err


def test_status_shows_every_place(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hook.main(["install", "--judge-only", "gemini", "--project"])
    write(world / "home/.codex/hooks.json", "{")
    capsys.readouterr()
    assert hook.main(["status", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["hooks"]
    states = {(row["agent"], row["scope"]): row["state"] for row in rows}
    assert states.keys() == FILES.keys()
    assert {key for key, state in states.items() if state == "installed"} == {("gemini", "project")}
    assert states["codex", "user"] == "unreadable"
    assert hook.main(["status", "gemini"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["gemini", "project", "installed"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["install"],
        ["install", "clod-code"],
        ["install", "codex", "gemini"],
        ["install", "codex", "--user", "--project"],
        ["install", "codex", "--local"],
        ["install", "codex", "--pack", "none"],
        ["install", "codex", "--yes"],
        ["uninstall"],
        ["status", "x"],
    ],
    ids=" ".join,
)
def test_what_is_not_understood_changes_nothing(arguments: list[str], world: Path) -> None:
    assert hook.main(arguments) == 2
    assert tree(world) == {}


def test_uninstalling_what_is_not_there_is_no_error(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hook.main(["uninstall", "codex"]) == 0
    assert "not installed" in capsys.readouterr().out
    assert tree(world) == {}


def started(command: str, payload: bytes) -> subprocess.CompletedProcess[bytes]:
    """A hook's command as an agent starts it."""
    return subprocess.run(
        ["sh", "-c", command],
        input=payload,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/someone"},
        timeout=120,
        check=False,
    )


def test_a_checkout_is_started_by_its_own_script_and_a_package_by_its_python(world: Path) -> None:
    package = write(world / "checkout/src/redoma/__init__.py", "").parent
    bare = [sys.executable, "-I", "-S", "-X", "utf8", str(package / "__main__.py")]
    assert entry.launcher(str(package)) == bare
    script = write(world / "checkout/bin/redoma", "#!/bin/sh\n")
    script.chmod(0o755)
    assert entry.launcher(str(package)) == [str(script)]


def test_the_installed_command_answers_from_anywhere(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "launcher", lambda: START)
    command = entry.command("claude-code", [])
    monkeypatch.chdir("/")
    done = started(command, claude("Bash", command="rm -rf /"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert command.startswith("/")


def test_a_path_with_a_blank_is_quoted(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = write(world / "my tools/redoma", '#!/bin/sh\necho "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(entry, "launcher", lambda: [str(script)])
    command = entry.command("codex", ["--no-ask"])
    assert started(command, b"").stdout == b"hook codex --no-ask\n"
    assert entry.is_ours({"command": command}, "codex")
    assert not entry.is_ours({"command": command}, "gemini")
    assert entry.starts(command)


def test_a_redoma_that_is_gone_or_dies_refuses_the_call(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = write(world / "redoma", "#!/bin/sh\nkill -9 $$\n")
    dying.chmod(0o755)
    for path in (dying, world / "gone/redoma"):
        monkeypatch.setattr(entry, "launcher", lambda path=path: [str(path)])
        command = entry.command("gemini", [])
        done = started(command, b"{}")
        assert done.returncode == 2
        assert b"the call is refused" in done.stderr
    assert not entry.starts(command)
