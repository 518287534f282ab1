"""Redoma inside something else: it works with what holds there, or says in one sentence why not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import redoma
from redoma.jail.engines.bubblewrap import candidates
from redoma.jail.kernel.syscall_table import MACHINES, number
from tests.tidy import remove

pytestmark = pytest.mark.both_users

SOURCE = os.path.dirname(os.path.dirname(redoma.__file__))
START = (
    f"import sys; sys.path[:0] = {[SOURCE, *(p for p in sys.path if p.endswith('-packages'))]!r}\n"
    "from redoma.__main__ import main; sys.exit(main(sys.argv[1:]))"
)
LONGEST = 120
needs_unshare = pytest.mark.skipif(shutil.which("unshare") is None, reason="no util-linux")
needs_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="no util-linux")

# Runs a command under a filter that refuses what Docker's does, to a process without capabilities.
FILTERED = """
import os, sys
sys.path[:0] = [sys.argv[1]]
from redoma.jail.kernel import privileges, seccomp
made = seccomp.Filter(os.uname().machine)
made.put(0x20, 0)
for name in "unshare setns mount umount2 pivot_root open_tree move_mount fsopen bpf".split():
    made.refuse(name, 1)
made.refuse("clone3", 38)
made.put(0x15, int(sys.argv[2]), no=4)
made.put(0x20, 16)
made.put(0x45, 0x7E020000, no=1)
made.put(0x06, 0x00050001)
made.put(0x20, 0)
made.put(0x06, 0x7FFF0000)
privileges.no_new_privileges()
privileges.load_filter(b"".join(made.code))
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Place:
    """A workspace, and a caller with a home of its own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.workspace = base / "work"
        self.workspace.mkdir()
        (base / "home").mkdir()

    def redoma(self, *words: str) -> list[str]:
        return [sys.executable, "-c", START, *words]

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            argv,
            cwd=self.workspace,
            env={"HOME": str(self.base / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def refused(self, *around: str) -> str:
        """What is said of a run that cannot be done there: nothing is run, and doctor agrees."""
        done = self.run(*around, *self.redoma("run", "echo ran > made; echo ran"))
        assert (done.returncode, done.stdout) == (125, ""), done
        assert os.listdir(self.workspace) == []
        assert "[Errno" not in done.stderr
        assert done.stderr.count("hint: ") == 1
        examined = self.run(*around, *self.redoma("doctor", "--json"))
        assert examined.returncode == 1
        told = json.loads(examined.stdout)["engines"]["bubblewrap"]["missing"]["writes-confined"]
        assert told in done.stderr
        return done.stderr


@pytest.fixture
def place() -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    yield Place(base)
    remove(base)


@needs_unshare
@pytest.mark.not_root
@pytest.mark.parametrize("way", ["-Ur", "-Urm", "-U --map-user=5 --map-group=5"])
def test_a_user_in_a_namespace_of_their_own_is_that_user(place: Place, way: str) -> None:
    words = place.redoma("run", "echo written > made; cat made; id -u")
    done = place.run("unshare", *way.split(), *words)
    assert (done.returncode, done.stdout) == (0, f"written\n{5 if '=5' in way else 0}\n"), done
    assert (place.workspace / "made").read_text() == "written\n"
    assert (place.workspace / "made").stat().st_uid == os.geteuid()
    undone = place.run("unshare", *way.split(), *place.redoma("undo"))
    assert undone.returncode == 0, undone
    assert os.listdir(place.workspace) == []


@needs_unshare
@pytest.mark.not_root
def test_what_holds_for_a_user_holds_in_a_namespace_of_their_own(place: Place) -> None:
    """It has every capability there, and the command none."""
    outside = place.base / "outside"
    outside.write_text("as it was")
    script = f"cat /proc/self/status; echo x > {outside}; cat /etc/shadow; mount -t tmpfs x /tmp"
    (place.workspace / "try.sh").write_text(script)
    # The judge reads the script and would ask; here the sandbox alone is to hold it.
    own = place.base / "home/.config/redoma"
    own.mkdir(parents=True)
    (own / "sandbox.yaml").write_text('version: "1.0"\npolicy: isolation-only\n')
    done = place.run("unshare", "-Ur", *place.redoma("run", "sh try.sh"))
    assert "CapEff:\t0000000000000000" in done.stdout
    assert "CapBnd:\t0000000000000000" in done.stdout
    assert outside.read_text() == "as it was"


@needs_unshare
@pytest.mark.root
def test_root_in_a_namespace_that_knows_nobody_else_is_told_so(place: Place) -> None:
    said = place.refused("unshare", "-Ur")
    assert "knows nobody else the command could run as" in said
    assert "hint: run redoma outside of it, or as an ordinary user" in said


@needs_unshare
def test_a_user_without_a_number_is_told_how_to_get_one(place: Place) -> None:
    place.base.chmod(0o777)
    place.workspace.chmod(0o777)
    (place.base / "home").chmod(0o777)
    said = place.run("unshare", "-U", *place.redoma("run", "echo ran")).stderr
    assert "hint: unshare -Ur instead of unshare -U" in said
    assert "[Errno" not in said


@needs_setpriv
@pytest.mark.root
def test_root_without_privileges_is_told_what_its_container_needs(place: Place) -> None:
    said = place.refused("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    assert "root has no CAP_SYS_ADMIN here" in said
    assert "hint: docker run --cap-add SYS_ADMIN" in said


@pytest.mark.skipif(os.uname().machine not in MACHINES, reason="no filter for this machine")
def test_below_a_containers_filter_its_options_are_said(place: Place) -> None:
    clone = str(number("clone", os.uname().machine))
    said = place.refused(sys.executable, "-c", FILTERED, SOURCE, clone)
    assert "a filter of system calls around this process refuses new namespaces" in said
    assert "hint: docker run --security-opt seccomp=unconfined" in said


@needs_unshare
@pytest.mark.not_root
def test_where_namespaces_are_used_up_the_setting_is_said(place: Place) -> None:
    closed = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    said = place.refused("unshare", "-Ur", "sh", "-c", closed, "sh")
    assert "hint: sudo sysctl -w user.max_user_namespaces=15000" in said


@pytest.mark.not_root
def test_where_a_container_hides_parts_of_proc_its_option_is_said(place: Place) -> None:
    hiding = (
        "--dev-bind / / --unshare-user --unshare-pid --proc /proc --ro-bind /dev/null /proc/uptime"
    )
    said = place.refused(candidates()[0], *hiding.split())
    assert "parts of /proc are hidden here" in said
    assert "systempaths=unconfined" in said


def test_inside_redoma_it_says_that_the_command_is_held_already(place: Place) -> None:
    shown = [SOURCE, sys.prefix, sys.base_prefix]
    given = [word for path in shown for word in ("--allow-read", path)]
    inner = place.base / "inner.py"
    inner.write_text(START)
    given += ["--allow-read", str(inner)]
    for words in (("run", "ls"), ("run", "--level", "minimal", "ls"), ("doctor",)):
        done = place.run(*place.redoma("run", *given, "--", sys.executable, str(inner), *words))
        said = done.stdout + done.stderr
        assert "this is inside a sandbox of Redoma's already" in said, said
        assert "run the command without redoma: the sandbox around it holds it" in said
        assert done.returncode in (1, 125), done


def test_what_was_found_outside_is_not_believed_inside(place: Place) -> None:
    """The cache is the same where a home is shared with a container."""
    assert place.run(*place.redoma("run", "echo ran")).stdout == "ran\n"
    clone = str(number("clone", os.uname().machine))
    place.refused(sys.executable, "-c", FILTERED, SOURCE, clone)
    assert place.run(*place.redoma("run", "echo ran")).stdout == "ran\n"
