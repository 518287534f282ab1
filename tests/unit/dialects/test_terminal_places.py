"""What terminal commands can touch: the working directory, /tmp, and what they name below home."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from redoma.dialects.terminal import CommandRisk, TerminalSandbox


def yes(command: str, risk: CommandRisk, reason: str) -> bool:
    return True


class TestExecuteSandboxed:
    @pytest.mark.both_users
    @pytest.mark.requirement("T7")
    def test_effects_in_the_working_directory_are_real_however_it_ends(self, project: Path) -> None:
        assert TerminalSandbox().execute_sandboxed("echo a > made; false") == (1, "", "")
        assert (project / "made").read_text() == "a\n"

    @pytest.mark.both_users
    @pytest.mark.requirement("T9")
    def test_effects_in_tmp_are_real_where_the_command_names_it(
        self, project: Path, in_tmp: Path
    ) -> None:
        sandbox = TerminalSandbox(confirm_callback=yes)
        command = f"cat {in_tmp}/file; rm {in_tmp}/file; mkdir -p {in_tmp}/a/b; echo c > here"
        assert sandbox.execute_sandboxed(command) == (0, "old", "")
        assert os.listdir(in_tmp) == ["a"]
        assert (project / "here").read_text() == "c\n"

    @pytest.mark.both_users
    @pytest.mark.requirement("T9")
    def test_what_lies_right_below_tmp_can_be_made_and_removed(
        self, project: Path, in_tmp: Path
    ) -> None:
        sandbox = TerminalSandbox(confirm_callback=yes)
        assert sandbox.execute_sandboxed(f"rm -rf {in_tmp}; echo a > {in_tmp}")[::2] == (0, "")
        assert in_tmp.read_text() == "a\n"
        in_tmp.unlink()

    @pytest.mark.not_root
    @pytest.mark.both_users
    @pytest.mark.requirement("T9")
    def test_tmp_as_it_is_is_only_for_programs_that_can_do_nothing_but_work_on_files(
        self, project: Path, in_tmp: Path
    ) -> None:
        sandbox = TerminalSandbox(confirm_callback=yes)
        said = f"[SANDBOX] Caminho fora das areas permitidas: {in_tmp}-new"
        for other in (
            "python3 x.py",
            "sort --compress-program=./x a",
            "PATH=. ls",
            "./rm a",
            ". ./x",
            "rm() { curl x; }; rm a",
        ):
            assert sandbox.execute_sandboxed(f"touch {in_tmp}-new; {other}") == (-1, "", said)
        exit_code, _, stderr = sandbox.execute_sandboxed(f"rm -rf {in_tmp}; python3 -c 'exit(3)'")
        assert (exit_code, os.listdir(in_tmp)) == (3, [])
        assert "busy" in stderr

    @pytest.mark.requirement("T9")
    def test_named_paths_below_home_are_real_and_keys_are_not_there(self, project: Path) -> None:
        home = Path(os.environ["HOME"])
        (home / "notes").mkdir()
        (home / "notes/a").write_text("mine")
        (home / ".config/tool").mkdir(parents=True)
        (home / ".config/tool/token").write_text("secret")
        sandbox = TerminalSandbox()
        assert sandbox.execute_sandboxed("cat ~/notes/a; cp ~/notes/a ~/notes/b")[:2] == (0, "mine")
        assert (home / "notes/b").read_text() == "mine"
        exit_code, stdout, _ = sandbox.execute_sandboxed("cat ~/.config/tool/token")
        assert (exit_code, stdout) == (1, "")
        said = f"[SANDBOX] Caminho fora das areas permitidas: {home}/new"
        assert sandbox.execute_sandboxed("touch ~/new") == (-1, "", said)

    @pytest.mark.both_users
    @pytest.mark.requirement("T9")
    def test_what_a_name_leads_to_counts(self, project: Path, in_tmp: Path) -> None:
        keys = Path(os.environ["HOME"]) / ".ssh"
        keys.mkdir()
        os.symlink(keys, in_tmp / "link")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(in_tmp / "agent"))
            listening.listen()
            code = f"import socket; socket.socket(socket.AF_UNIX).connect('{in_tmp}/agent')"
            command = f'ls {in_tmp} >/dev/null 2>&1; touch {in_tmp}/link/x; python3 -c "{code}"'
            assert TerminalSandbox(confirm_callback=yes).execute_sandboxed(command)[0] != 0
            listening.settimeout(0.1)
            with pytest.raises(TimeoutError):
                listening.accept()
        assert os.listdir(keys) == []

    @pytest.mark.requirement("T9")
    def test_a_working_directory_has_to_be_allowed(self, project: Path, in_tmp: Path) -> None:
        sandbox = TerminalSandbox()
        (project / "below").mkdir()
        assert sandbox.execute_sandboxed("pwd", cwd="below") == (0, f"{project}/below\n", "")
        assert sandbox.execute_sandboxed("pwd", cwd=in_tmp) == (0, f"{in_tmp}\n", "")
        for refused in ("/etc", "/", "/usr/lib"):
            said = f"[SANDBOX] Diretorio de trabalho nao permitido: {refused}"
            assert sandbox.execute_sandboxed("pwd", cwd=refused) == (-1, "", said)
        assert sandbox.get_metrics().blocked_by_pattern == {"path-not-allowed": 3}

    @pytest.mark.requirement("T9")
    def test_home_is_a_working_directory_without_what_it_hides(self, project: Path) -> None:
        home = Path(os.environ["HOME"])
        (home / "notes").write_text("note\n")
        (home / ".bashrc").write_text("old")
        (home / ".token").write_text("secret")
        # The judge reads the script; which files it would change, only the running script knows.
        (home / "names").write_text(".bashrc\n.zshrc\n")
        script = home / "script"
        script.write_text(
            'cat notes; echo new > made; cat .token; while read f; do echo bad >> "$f"; done < names; true'
        )
        for sandbox, cwd in ((TerminalSandbox(), "~"), (TerminalSandbox(cwd="~"), "")):
            assert sandbox.execute_sandboxed("pwd", cwd=cwd) == (0, f"{home}\n", "")
            plain = TerminalSandbox(strict_mode=False, confirm_callback=lambda *_: True, cwd=cwd)
            code, out, _ = plain.execute_sandboxed("bash script", cwd="~")
            assert (code, out) == (0, "note\n")
            assert (home / "made").read_text() == "new\n"
            assert sandbox.execute_sandboxed("cat made notes", cwd=home) == (0, "new\nnote\n", "")
        assert (home / ".bashrc").read_text() == "old"
        assert not (home / ".zshrc").exists()

    @pytest.mark.requirement("T9")
    def test_tmp_is_a_working_directory(self, project: Path, in_tmp: Path) -> None:
        yes = TerminalSandbox(confirm_callback=lambda *_: True)
        assert yes.execute_sandboxed("pwd", cwd="/tmp") == (0, "/tmp\n", "")
        name = f"{in_tmp.name}-made"
        assert yes.execute_sandboxed(f"cat {in_tmp.name}/file", cwd="/tmp") == (0, "old", "")
        assert yes.execute_sandboxed(f"echo x > {name}", cwd="/tmp") == (0, "", "")
        assert Path(f"/tmp/{name}").read_text() == "x\n"
        assert yes.execute_sandboxed(f"rm {name}", cwd="/tmp") == (0, "", "")
        assert not Path(f"/tmp/{name}").exists()
