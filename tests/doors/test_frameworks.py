"""The sandbox as tools of agent frameworks, driven by their own machinery and a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from redoma.integrations import function_calls, jupyter
from tests.pipeline.place import Place

pytestmark = [pytest.mark.usefixtures("one_cache"), pytest.mark.filterwarnings("default")]
NAMES = ["run_command", "preview_command", "run_python", "undo_changes"]
ASKED = {"command": "echo made > f; echo told"}


def test_plain_schemas_carry_a_call_out_and_say_what_is_wrong_with_one(place: Place) -> None:
    calls = function_calls.FunctionCalls(place.sandbox())
    assert [one["name"] for one in calls.schemas()] == NAMES
    assert [one["function"]["name"] for one in calls.openai()] == NAMES  # type: ignore[index]
    assert set(calls.anthropic()[0]) == {"name", "description", "input_schema"}
    assert calls.call("run_command", ASKED).startswith("told\n[1 changed paths, as ")
    assert (place.workspace / "f").read_text() == "made\n"
    assert calls.call("undo_changes", {}).startswith("[undone ")
    assert not (place.workspace / "f").exists()
    assert calls.call("run_python", {"code": "print(6 * 7)"}) == "42\n"
    assert "+made" in calls.call("preview_command", ASKED)
    assert not (place.workspace / "f").exists()
    for name, wrong in (
        ("rm", {}),
        ("run_command", {}),
        ("run_command", {"command": 7}),
        ("run_command", {"command": "true", "timeout": True}),
        ("run_command", {"command": "true", "more": 1}),
        ("undo_changes", {"transaction": "nonesuch"}),
    ):
        assert calls.call(name, wrong).startswith("["), (name, wrong)


def test_the_openai_agents_sdk_runs_a_command(place: Place) -> None:
    import agents
    from agents.tool_context import ToolContext

    from redoma.integrations.openai_agents import tools

    made = tools(place.sandbox())
    assert [one.name for one in made] == NAMES
    context = ToolContext(
        context=None, tool_name=NAMES[0], tool_call_id="1", tool_arguments=json.dumps(ASKED)
    )
    said = asyncio.run(made[0].on_invoke_tool(context, json.dumps(ASKED)))
    assert said.startswith("told\n")
    assert agents.Agent(name="worker", tools=made).tools == made


def test_langgraph_runs_what_a_model_asked_for(place: Place) -> None:
    from langchain_core import messages
    from langgraph import graph as graphs
    from langgraph import prebuilt

    from redoma.integrations.langchain import tools

    made = tools(place.sandbox())
    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("tools", prebuilt.ToolNode(made))
    graph.add_edge(graphs.START, "tools")
    call = {"name": "run_command", "args": ASKED, "id": "1", "type": "tool_call"}
    asked = messages.AIMessage(content="", tool_calls=[call])
    ended: dict[str, Any] = graph.compile().invoke({"messages": [asked]})
    assert ended["messages"][-1].content.startswith("told\n")


def test_pydantic_ai_runs_what_a_model_asked_for(place: Place) -> None:
    import pydantic_ai
    from pydantic_ai import messages as parts
    from pydantic_ai.models import function

    from redoma.integrations.pydantic_ai import toolset

    def model(messages: list[Any], _info: object) -> Any:
        returned = [p for p in messages[-1].parts if isinstance(p, parts.ToolReturnPart)]
        if returned:
            return parts.ModelResponse(parts=[parts.TextPart(str(returned[0].content))])
        return parts.ModelResponse(parts=[parts.ToolCallPart("run_command", ASKED)])

    agent = pydantic_ai.Agent(function.FunctionModel(model), toolsets=[toolset(place.sandbox())])
    assert asyncio.run(agent.run("go")).output.startswith("told\n")


def test_smolagents_runs_what_a_model_asked_for(place: Place) -> None:
    import smolagents
    from smolagents import models

    from redoma.integrations.smolagents import tools

    said: list[str] = []

    class Scripted(models.Model):
        def generate(self, messages: list[Any], **_: object) -> Any:
            said.append(str(messages[-1].content))
            name, arguments = (
                ("run_command", ASKED) if len(said) == 1 else ("final_answer", {"answer": "done"})
            )
            call = models.ChatMessageToolCall(
                id=str(len(said)),
                type="function",
                function=models.ChatMessageToolCallFunction(name=name, arguments=arguments),
            )
            return models.ChatMessage(role="assistant", content="", tool_calls=[call])

    agent = smolagents.ToolCallingAgent(
        tools=tools(place.sandbox()), model=Scripted(), verbosity_level=0
    )
    assert agent.run("go") == "done"
    assert "told" in said[1]


@pytest.fixture
def shell(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from IPython.testing import globalipapp as testing

    monkeypatch.chdir(place.workspace)
    made = testing.get_ipython() or testing.start_ipython()
    jupyter.load_ipython_extension(made)
    yield made


def test_a_notebook_cell_is_held_applied_and_undone(shell: Any, place: Place) -> None:
    made = place.workspace / "f"
    shown = shell.run_cell_magic("redoma", "", "echo '<b>' > f")
    assert "&lt;b&gt;" in shown._repr_html_() and "<b>" not in shown._repr_html_()
    assert not made.exists()
    assert "applied" in repr(shell.run_line_magic("redoma", "apply"))
    assert made.read_text() == "<b>\n"
    assert "undid" in repr(shell.run_line_magic("redoma", "undo"))
    assert not made.exists()
    assert repr(shell.run_cell_magic("redoma", "--python --run", "print(6 * 7)")) == "42"
    for wrong in ("apply", "discard", "", "nonsense"):
        assert "usage" in repr(shell.run_line_magic("redoma", wrong))
