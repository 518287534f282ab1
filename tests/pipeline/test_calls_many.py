"""Many calls: at once, one after the other, from a program's own file, through a gate."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from inspect import getsource
from pathlib import Path

import pytest

from redoma import AsyncSandbox, Network, Sandbox, SandboxViolation
from tests.house.tree import PACKAGE
from tests.pipeline.called import connects, doubled
from tests.pipeline.place import Place

AT_ONCE = 50


def test_fifty_calls_from_fifty_threads_each_have_their_own_value(place: Place) -> None:
    sandbox = place.sandbox()
    found: dict[int, int] = {}

    def call(number: int) -> None:
        found[number] = sandbox.call(pow, number, 2)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number**2 for number in range(AT_ONCE)}


def test_fifty_calls_from_one_loop_each_have_their_own_value(place: Place) -> None:
    async def calls() -> list[int]:
        sandbox = AsyncSandbox(str(place.workspace), audit=str(place.record))
        return await asyncio.gather(*(sandbox.call(pow, at, 2) for at in range(AT_ONCE)))

    assert asyncio.run(calls()) == [number**2 for number in range(AT_ONCE)]


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_calls_leave_no_descriptor_and_no_file_behind(place: Place) -> None:
    sandbox = place.sandbox()
    for _ in range(3):
        sandbox.call(len, "x")
    before = _descriptors()
    for _ in range(10):
        sandbox.call(len, "x")
    until = time.monotonic() + 10
    while _descriptors() > before and time.monotonic() < until:
        time.sleep(0.1)
    assert _descriptors() <= before
    assert os.listdir(place.workspace) == []


PROGRAM = """
import sys
sys.path.append({source!r})
from dataclasses import dataclass
from redoma import Call, Sandbox

FACTOR = 3

@dataclass
class Made:
    value: int

class Tool:
    factor = FACTOR
    def run(self, value):
        return helper(value) * self.factor

def helper(value):
    return value + 1

if __name__ == "__main__":
    sandbox = Sandbox({workspace!r}, audit={record!r})
    print(sandbox.call(Tool().run, 4))
    print(sandbox.perform(Call(Made, [5], returns=[Made])).value)
"""


def test_functions_and_classes_of_the_program_itself_run_inside(place: Place) -> None:
    program = place.workspace.parent / "program.py"
    program.write_text(
        PROGRAM.format(
            source=str(PACKAGE.parent), workspace=str(place.workspace), record=str(place.record)
        )
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("15\nMade(value=5)\n", 0), done.stderr


def test_a_module_beside_secrets_goes_by_value(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home is in the search path where a program was started there; it is not shown for that."""
    home = Path(os.environ["HOME"])
    home.mkdir()
    (home / "own_tool_of_mine.py").write_text("def run(x):\n    return x + base\nbase = 40\n")
    (home / "secret").write_text("of mine")
    monkeypatch.syspath_prepend(str(home))
    import own_tool_of_mine  # type: ignore[import-not-found]

    try:
        sandbox = place.sandbox()
        assert sandbox.call(own_tool_of_mine.run, 2) == 42
        with pytest.raises(SandboxViolation):
            sandbox.call(os.listdir, str(home / "secret"))
    finally:
        del sys.modules["own_tool_of_mine"]


def test_a_host_that_was_not_given_is_a_violation_that_names_it(place: Place) -> None:
    sandbox = place.sandbox(network=Network(hosts=["example.com"]))
    with pytest.raises(SandboxViolation) as caught:
        sandbox.call(connects, "other.example")
    assert (caught.value.kind, caught.value.host) == ("network", "other.example")
    assert sandbox.call(doubled, 1) == 2


def test_a_policy_that_says_no_to_python_says_no_to_calls(place: Place) -> None:
    from redoma.model.errors import Denied

    place.policy("blocklist_extensions:\n  - python3\n")
    with pytest.raises(Denied):
        place.sandbox().call(len, "x")


def test_who_is_asked_sees_the_call_and_a_no_is_a_no(place: Place) -> None:
    from redoma.model.errors import Declined

    place.policy('confirmation:\n  required_for:\n    - "safety_level >= moderate"\n')
    asked: list[str] = []

    def never(question: object) -> bool:
        asked.append(question.command)  # type: ignore[attr-defined]
        return False

    with pytest.raises(Declined):
        place.sandbox(ask=never).call(len, "x")
    assert asked == ["call builtins.len('x')"]
    assert (
        Sandbox(str(place.workspace), audit=str(place.record), ask=lambda _: True).call(len, "x")
        == 1
    )


def loaded_before_it_came() -> bool:
    """Whether the launcher had what a function is made from again: what it has is frozen."""
    import gc
    import sys

    return not any(each is vars(sys.modules["cloudpickle"]) for each in gc.get_objects())


@pytest.mark.both_users
@pytest.mark.parametrize("first", ["by name", "by value"])
def test_what_makes_functions_from_bytes_is_loaded_once_and_not_in_every_call(
    place: Place, first: str
) -> None:
    # From the program itself, so that it goes by value; the launcher belongs to that process.
    script = place.workspace / "program.py"
    script.write_text(
        "import sys\nfrom redoma import Sandbox\n"
        + getsource(loaded_before_it_came)
        + "sandbox = Sandbox(sys.argv[1], engine='forkserver', audit=sys.argv[2])\n"
        + ("sandbox.call(sum, [1])\n" if first == "by name" else "")
        + "print(sandbox.call(loaded_before_it_came))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), str(place.workspace), str(place.record)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.requirement("X3")
@pytest.mark.both_users
def test_the_first_call_of_a_program_in_our_own_cached_environment_finds_all_it_needs(
    place: Place,
) -> None:
    """A checkout that cannot be written has its environment below the cache, which is hidden."""
    import cloudpickle  # type: ignore[import-untyped]

    home = Path(os.environ["HOME"])
    venv = home / ".cache/redoma/checkouts/here/.venv"
    venv.parent.mkdir(parents=True, mode=0o700)
    (home / ".cache/redoma").chmod(0o700)
    (home / ".cache/redoma/secret").write_text("x")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    libraries = next(venv.glob("lib/python3*/site-packages"))
    for name in ("cloudpickle", "yaml", "_yaml"):
        shutil.copytree(Path(cloudpickle.__file__).parent.parent / name, libraries / name)
    script = place.workspace / "program.py"
    script.write_text(
        "import os, sys\n"
        "from redoma.dialects.tools import SandboxExecutor, get_filesystem_only\n"
        "def looks(at):\n    return sorted(os.listdir(at))\n"
        "run = SandboxExecutor(get_filesystem_only(), record=sys.argv[1])\n"
        "print(run.execute(lambda x: 2 * x, 2), run.execute(lambda x: 2 * x, 3))\n"
        "print(run.execute(looks, sys.argv[2]))\n"
    )
    given = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_CACHE", "PYTHON"))}
    done = subprocess.run(
        [str(venv / "bin/python"), str(script), str(place.record), str(home / ".cache/redoma")],
        env={**given, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("4 6\n['checkouts']\n", "")
