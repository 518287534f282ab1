"""Runs an evaluation of many samples at once, each in a cell, and looks for what is left.

python -m tests.evals.samples 200
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash

import redoma.integrations.inspect_evals as provider

LEFT = "sleep\000753197"


LEAVES = "cat given made; (setsid sleep 753197 &) ; whoami"


def scripted(command: str = LEAVES) -> Any:
    """A model that runs one command and then says what it printed."""

    def answer(messages: list[Any], *_: object) -> ModelOutput:
        last = messages[-1]
        if last.role == "tool":
            made = ModelOutput.from_content("mockllm/model", last.text)
        else:
            made = ModelOutput.for_tool_call("mockllm/model", "bash", {"command": command})
        # Without these Inspect counts words by a table that it fetches from the network.
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return made

    return get_model("mockllm/model", custom_outputs=answer)


def evaluated(samples: int, logs: str) -> Any:
    """The log of an evaluation whose samples all have files and a setup of their own."""
    assert provider.RedomaSandboxEnvironment
    task = Task(
        dataset=[
            Sample(
                input="what is in the files?",
                target=f"file {n}\nset up {n}",
                files={"given": f"file {n}\n"},
                setup=f"#!/bin/sh\necho set up {n} > made\n",
                id=n + 1,
            )
            for n in range(samples)
        ],
        solver=[use_tools(bash()), generate()],
        scorer=includes(),
        sandbox="redoma",
    )
    made = evaluate(
        task,
        model=scripted(),
        display="none",
        log_dir=logs,
        max_samples=samples,
        max_sandboxes=samples,
        log_level="error",
    )
    return made[0]


def left_behind() -> list[str]:
    """Processes of any sample that still run, and control groups of this process's."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and LEFT in Path(f"/proc/{name}/cmdline").read_text("utf-8"):
                found.append(f"process {name}")
        except OSError:
            continue
    return found


def main(samples: int) -> None:
    """Prints how it went; an error status where something was left."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as logs:
        log = evaluated(samples, logs)
        took = time.monotonic() - began
        good = sum(each.scores["includes"].value == "C" for each in log.samples or [])
    left = left_behind()
    print(f"{samples} samples at once: {log.status}, {good} right, {took:.1f} s, left: {left}")
    if left or good != samples:
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
