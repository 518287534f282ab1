"""A command's modules come out of one file, and never are anything but what their sources say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.base.import_cache import ImportCache
from redoma.base.pattern_cache import KeptPatterns, code_of
from tests.house.tree import PACKAGE

pytestmark = pytest.mark.both_users

OTHER_PYTHON = "/usr/bin/python3"
FROM_THE_CACHE = """
import sys; sys.path.append({tree!r})
from redoma.base import import_cache
import_cache.begin(["run"])
import redoma.cli.run as module
print(type(module.__loader__).__name__, module.__file__, module.__spec__.origin)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package that is nobody else's."""
    made = tmp_path / "src"
    shutil.copytree(
        PACKAGE, made / "redoma", ignore=shutil.ignore_patterns("__pycache__", "judge", "*.yaml")
    )
    return made


def started(tree: Path, *flags: str, python: str = sys.executable, **more: str) -> str:
    """What `redoma run --help` of a tree prints, in a cold process."""
    done = subprocess.run(
        [python, "-I", "-S", *flags, str(tree / "redoma/__main__.py"), "run", "--help"],
        env={"HOME": str(tree.parent), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def caches(place: Path) -> list[Path]:
    return sorted(place.rglob("*.imports"))


def loader(tree: Path) -> str:
    """Who loads a module of this command, from where."""
    return printed(tree, FROM_THE_CACHE.format(tree=str(tree))).split()[0]


def printed(tree: Path, code: str) -> str:
    """What a bare interpreter prints that runs this."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        env={"HOME": str(tree.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def edit(tree: Path) -> None:
    source = tree / "redoma/cli/help.py"
    source.write_text(source.read_text().replace('"usage: {0}"', '"usage, edited: {0}"'))


def test_the_second_start_takes_its_modules_from_what_the_first_left(tree: Path) -> None:
    assert loader(tree) == "SourceFileLoader"
    first = started(tree)
    (kept,) = caches(tree)
    before = kept.read_bytes()
    assert started(tree) == first
    assert loader(tree) == "_Loader"
    assert kept.read_bytes() == before


IN_WHICH_ORDER = """
import sys; sys.path.append({tree!r})
from redoma.base import import_cache, paths  # a start that finds no cache asks for paths first
made = import_cache.begin(["run"])
before = set(sys.modules)
{first}
import redoma.cli.run
print([name for name in sys.modules if name not in before])
print([
    (name, module.__package__, module.__spec__.name, module.__spec__.parent, module.__file__)
    for name, module in sorted(sys.modules.items())
    if name.startswith("redoma.") and name not in before
])
print(redoma.cli.run is sys.modules["redoma"].cli.run, hasattr(redoma.model, "result"))
print(redoma.model.errors.__spec__._initializing)
"""


def loaded(tree: Path, first: str = "") -> str:
    """What a start has loaded, in which order, and what it knows of itself."""
    return printed(tree, IN_WHICH_ORDER.format(tree=str(tree), first=first))


A_THREAD = "import _thread; held = _thread.allocate_lock(); held.acquire()"
A_THREAD += "; _thread.start_new_thread(held.acquire, ())"


@pytest.mark.parametrize("first", ["", A_THREAD])
def test_modules_that_come_in_one_go_are_as_the_interpreter_loads_them(
    tree: Path, first: str
) -> None:
    alone = loaded(tree, first)
    started(tree)
    assert loaded(tree, first) == alone


def test_a_module_that_fails_says_so_where_it_is_asked_for(tree: Path) -> None:
    source = tree / "redoma/model/result.py"
    source.write_text(
        source.read_text().replace(
            "from redoma.model.value",
            "import os\nif 'FAIL' in os.environ: 1 / 0\nfrom redoma.model.value",
            1,
        )
    )
    started(tree)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tree / "redoma/__main__.py"), "run", "--help"],
        env={"HOME": str(tree.parent), "FAIL": "yes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (125, "")
    assert "could not do its work: ZeroDivisionError" in done.stderr


@pytest.mark.parametrize(
    "how", ["import redoma.model.second", "from redoma.model.second import LATER"]
)
def test_modules_that_load_each_other_are_each_loaded_once(tree: Path, how: str) -> None:
    said = "import sys\nsys.stdout.write(__name__ + ' ')\n"
    (tree / "redoma/model/first.py").write_text(f"{said}{how}\nHERE = 1\n")
    (tree / "redoma/model/second.py").write_text(f"{said}import redoma.model.first\nLATER = 2\n")
    help_text = tree / "redoma/cli/help.py"
    help_text.write_text(
        f"{help_text.read_text()}\nimport redoma.model.first as first\nfirst.HERE\n"
    )
    first, *later = [started(tree).partition("usage")[0].split() for _ in range(3)]
    assert first == ["redoma.model.first", "redoma.model.second"]
    # Where one cannot be loaded before the other, it is tried, and loaded as ever.
    assert [sorted(set(each)) for each in later] == [first, first]
    assert how.startswith("from") or [len(each) for each in later] == [2, 2]


PATTERNS: list[tuple[str | bytes, int]] = [
    (r"([A-Za-z_]\w*)=(?P<value>[^;]*);?", 0),
    (r"(?s)a.b|c{2,3}+", int(re.IGNORECASE)),
    (rb"[\x80-\xff]+(?!\w)", 0),
    ("äö|[^\x00-\u1234]", 0),
]


@pytest.mark.parametrize(("text", "flags"), PATTERNS)
def test_a_pattern_made_of_kept_code_is_the_one_that_was_compiled(
    text: str | bytes, flags: int
) -> None:
    kept = KeptPatterns({(text, flags): code_of(text, flags)})
    assert kept[type(text), text, flags] == re.compile(text, flags)


def test_a_pattern_whose_code_is_unsound_is_not_taken() -> None:
    made = code_of("a+b", 0)
    for broken in ((made[0], [1, 2, 3], *made[2:]), (made[0], made[1][:-3], *made[2:]), (1, 2)):
        with pytest.raises(KeyError):
            KeptPatterns({("a+b", 0): broken})[str, "a+b", 0]  # type: ignore[dict-item]


SECOND_START = """
import sys; sys.path.append({tree!r})
from redoma.base import import_cache
made = import_cache.begin(["run"])
import re
from re import _compiler
before = _compiler.compile
def counted(*given):
    print("compiles", given[0])
    return before(*given)
_compiler.compile = counted
MODULE = re.compile("(a+)b")
def asked():
    return re.compile("pass" + "word")
asked()
print(MODULE.findall("aab ab"))
made.end()
"""


def test_a_pattern_of_a_module_is_compiled_by_one_start_and_used_by_the_next(tree: Path) -> None:
    code = SECOND_START.format(tree=str(tree))
    found = "['aa', 'a']\n"
    assert printed(tree, code) == f"compiles (a+)b\ncompiles password\n{found}"
    assert printed(tree, code) == f"compiles password\n{found}"


def test_a_pattern_that_a_function_made_is_never_written_down(tree: Path) -> None:
    printed(tree, SECOND_START.format(tree=str(tree)))
    (kept,) = caches(tree)
    assert b"(a+)b" in kept.read_bytes()
    assert b"password" not in kept.read_bytes()


def test_what_the_import_cache_itself_needs_is_little(tree: Path) -> None:
    code = (
        f"import sys; sys.path.append({str(tree)!r})\n"
        "import _frozen_importlib_external, os, marshal\n"
        "before = set(sys.modules)\n"
        "import redoma.base.import_cache\n"
        "print(sorted(set(sys.modules) - before))"
    )
    own = ["cache", "import_cache"]
    wanted = ["__future__", "redoma", "redoma.base", *(f"redoma.base.{name}" for name in own)]
    assert printed(tree, code) == f"{wanted}\n"


def test_a_changed_source_is_what_counts(tree: Path) -> None:
    started(tree)
    (kept,) = caches(tree)
    before = kept.read_bytes()
    edit(tree)
    assert started(tree).startswith("usage, edited: ")
    assert kept.read_bytes() != before
    assert started(tree).startswith("usage, edited: ")


def test_a_source_that_is_gone_is_gone(tree: Path) -> None:
    started(tree)
    (tree / "redoma/cli/run_options.py").unlink()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tree / "redoma/__main__.py"), "run", "--help"],
        env={"HOME": str(tree.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert "run_options" in done.stderr


def test_a_copied_tree_does_not_run_the_code_of_its_original(tree: Path) -> None:
    started(tree)
    copy = tree.parent / "copy"
    shutil.copytree(tree, copy, copy_function=shutil.copy2)
    edit(copy)
    assert started(copy).startswith("usage, edited: ")
    assert started(tree).startswith("usage: ")


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"\x04" + bytes(7) + b"N.\0\0", bytes(64)])
def test_a_broken_cache_is_made_anew(tree: Path, rubbish: bytes) -> None:
    first = started(tree)
    (kept,) = caches(tree)
    whole = kept.read_bytes()
    kept.write_bytes(rubbish)
    assert started(tree) == first
    assert len(kept.read_bytes()) == len(whole)


def test_code_that_cannot_be_read_is_read_from_its_source(tree: Path) -> None:
    first = started(tree)
    (kept,) = caches(tree)
    whole = kept.read_bytes()
    head = 8 + int.from_bytes(whole[:8], "little")
    kept.write_bytes(whole[:head])  # an index, and no code behind it
    assert started(tree) == first


def test_a_damaged_piece_fails_no_start_and_is_kept_anew(tree: Path) -> None:
    started(tree)
    (kept,) = caches(tree)
    whole = kept.read_bytes()
    head = 8 + int.from_bytes(whole[:8], "little")
    kept.write_bytes(whole[:head] + bytes(len(whole) - head))
    edit(tree)  # so that this start has something to leave behind
    for _ in range(3):
        assert started(tree).startswith("usage, edited: ")
    assert bytes(1000) not in kept.read_bytes()


@pytest.mark.root
def test_a_cache_of_another_user_is_not_believed(tree: Path) -> None:
    started(tree)
    (kept,) = caches(tree)
    os.chown(kept, 12345, 12345)
    assert loader(tree) == "SourceFileLoader"


def test_a_cache_that_others_can_write_is_not_believed(tree: Path) -> None:
    started(tree)
    (kept,) = caches(tree)
    kept.chmod(0o666)
    assert loader(tree) == "SourceFileLoader"


@pytest.mark.not_root
def test_a_package_that_cannot_be_written_has_its_cache_in_the_users_cache(tree: Path) -> None:
    cache = tree.parent / "cache"
    (tree / "redoma").chmod(0o555)
    first = started(tree, XDG_CACHE_HOME=str(cache))
    assert (caches(tree), len(caches(cache))) == ([], 1)
    assert started(tree, XDG_CACHE_HOME=str(cache)) == first


def test_where_no_compiled_code_is_wanted_no_cache_is_left(tree: Path) -> None:
    started(tree, "-B")
    started(tree, "-O")
    assert caches(tree) == []


def test_compiled_code_that_has_its_own_place_has_its_cache_there(tree: Path) -> None:
    prefix = tree.parent / "prefix"
    started(tree, "-X", f"pycache_prefix={prefix}")
    assert (caches(tree), len(caches(prefix))) == ([], 1)


@pytest.mark.skipif(not os.path.exists(OTHER_PYTHON), reason=f"there is no {OTHER_PYTHON}")
def test_two_interpreters_do_not_take_each_others_code(tree: Path) -> None:
    version = subprocess.run(
        [OTHER_PYTHON, "-c", "import sys; print(sys.hexversion)"], capture_output=True, check=True
    )
    if int(version.stdout) == sys.hexversion:
        pytest.skip("both are the same version")
    assert started(tree) == started(tree, python=OTHER_PYTHON) == started(tree)
    assert len(caches(tree)) == 2


def test_a_start_that_ended_early_does_not_say_what_the_others_read_at_once() -> None:
    together = ImportCache._together
    many = set("abcdefgh")
    assert together(set(), many) == many
    assert together(many, many - {"h"}) == many - {"h"}
    assert together(many, {"a", "b"}) == many
    assert together({"a", "b"}, many) == many
