"""The judge as the tests ask it: in a project at home, so that no test depends on where it runs."""

from __future__ import annotations

from redoma.judge.interpret.state import Ground, State
from redoma.judge.interpret.walker import Walker
from redoma.judge.shell.parser import parse
from redoma.model.decision import Decision, Effect, Fact, Risk
from redoma.pipeline.decisions.check import check
from redoma.pipeline.decisions.knowledge import knowledge

PROJECT = "/home/user/project"
HOME = "/home/user"


def decision(command: str, pack: str = "default") -> Decision:
    """What the judge says of a command given in the project."""
    return check(command, pack=pack, cwd=PROJECT, home=HOME)


def risk(command: str, pack: str = "default") -> Risk:
    return decision(command, pack).assessment.risk


def rules(command: str, pack: str = "default") -> set[str]:
    """The names of the rules that found something."""
    return {finding.rule for finding in decision(command, pack).assessment.findings}


def walked(command: str) -> Walker:
    """A finished walk, with every call noted."""
    walker = Walker(command, Ground(PROJECT, HOME), knowledge())
    walker.calls_wanted = True
    walker.script(parse(command), State(walker.ground))
    return walker


def calls(command: str) -> list[list[str]]:
    """Every program called, with the words it would get."""
    return [f.detail.split("\x1f") for f in walked(command).facts if f.effect is Effect.CALLS]


def facts(command: str) -> list[Fact]:
    return [fact for fact in walked(command).facts if fact.effect is not Effect.CALLS]
