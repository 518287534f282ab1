"""smolagents' CodeAgent with our executor: state lasts, tools run outside, the rest inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from redoma import Cell
from redoma.integrations.cell_interpreter import CellInterpreter, StepFailed

pytestmark = [pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    with Cell() as made:
        yield made


def test_a_code_agent_with_a_scripted_model_works_in_the_cell() -> None:
    import smolagents
    from smolagents import models

    from redoma.integrations.smolagents_executor import CellExecutor

    seen: list[str] = []
    steps = [
        "import os\nfound = [secret(3), os.getcwd()]\nprint('first', found)",
        "1 / 0",
        "open('made', 'w').write('x')\nfinal_answer([*found, os.listdir('.')])",
    ]

    class Scripted(models.Model):
        def generate(self, messages: list[Any], **_: object) -> Any:
            seen.append(str(messages[-1].content))
            code = f"<code>\n{steps[len(seen) - 1]}\n</code>"
            return models.ChatMessage(role="assistant", content=code)

    @smolagents.tool
    def secret(number: int) -> str:
        """Tells it.

        Args:
            number: which
        """
        return f"outside {number}"

    executor = CellExecutor()
    agent = smolagents.CodeAgent(
        tools=[secret], model=Scripted(), executor=executor, verbosity_level=0, max_steps=4
    )
    with executor.cell as cell:
        assert agent.run("go") == ["outside 3", "/workspace", ["made"]]
        assert cell.read("made") == b"x"
    assert "first ['outside 3', '/workspace']" in seen[1]
    assert "ZeroDivisionError" in seen[2]
    executor.cleanup()


def test_a_step_past_its_time_is_ended_and_the_next_begins_anew(cell: Cell) -> None:
    interpreter = CellInterpreter(cell, 1.5)
    interpreter.run("kept = 1")
    assert interpreter.run("kept + 1") == (2, False)
    with pytest.raises(StepFailed, match="past its"):
        interpreter.run("while True: pass")
    with pytest.raises(StepFailed, match="NameError"):
        interpreter.run("kept")
    with pytest.raises(StepFailed, match="ended"):
        interpreter.run("import os; os._exit(0)")
    interpreter.close()


def test_code_that_reads_no_answer_is_past_its_time(cell: Cell) -> None:
    interpreter = CellInterpreter(cell, 2)
    interpreter.give_tools({"large": lambda: "x" * 1_000_000})
    find = "import gc, io, json, time\nout = [o for o in gc.get_objects() if isinstance(o,"
    find += " io.TextIOWrapper) and o.mode == 'w' and o.fileno() > 2][0]\n"
    asks = "out.write(json.dumps({'tool': 'large', 'args': [], 'named': {}}) + '\\n')\n"
    with pytest.raises(StepFailed, match="past its"):
        interpreter.run(f"{find}{asks}out.flush()\ntime.sleep(600)")
    interpreter.close()


@pytest.mark.parametrize(
    "forged",
    ["[]", "nonsense", '{"done": 7}', '{"tool": "rm", "args": [], "named": {}}', "[" * 5000, "{}"],
)
def test_code_that_forges_messages_gains_nothing(cell: Cell, forged: str) -> None:
    interpreter = CellInterpreter(cell, 10)
    called: list[object] = []
    interpreter.give_tools({"known": called.append})
    code = f"out.write({forged!r} + '\\n'); out.flush()"
    # Attack: the code finds the stream by which it is answered for.
    find = "import gc, io\nout = [o for o in gc.get_objects() if isinstance(o, io.TextIOWrapper)"
    find += " and o.mode == 'w' and o.fileno() > 2][0]\n"
    with suppress(StepFailed):
        interpreter.run(find + code)
    assert called == []
    interpreter.close()


def test_only_data_enters_and_only_tools_that_were_given_are_called(cell: Cell) -> None:
    interpreter = CellInterpreter(cell, 10)
    interpreter.give_variables({"given": {"a": [1, 2]}})
    assert interpreter.run("given['a'][1]") == (2, False)
    with pytest.raises(StepFailed, match="plain data"):
        interpreter.give_variables({"given": object()})
    interpreter.give_tools({"breaks": lambda: 1 / 0})
    with pytest.raises(StepFailed, match="division"):
        interpreter.run("breaks()")
    interpreter.close()
