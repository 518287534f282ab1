"""Questions to ask, each with only what a test is about."""

from __future__ import annotations

from redoma.model.decision import Risk
from redoma.model.message import Message
from redoma.model.request import Answer, Choice, Context, Impact, Question, Remember
from redoma.model.value import replace

FORCE_PUSH = Question(
    id="0f8fad5b-d9cb-469f-a165-70867728950e",
    digest="d" * 64,
    command="git push --force origin main",
    risk=Risk.DANGEROUS,
    safety_level="dangerous",
    because=(
        Message(
            "{program} {detail} replaces history that others may have built on",
            program="git",
            detail="push --force",
        ),
        "pushes straight to the branch that everybody builds on",
    ),
    spans=((0, 28), (24, 28)),
    alternative="git push --force-with-lease stops when someone else pushed meanwhile",
    impact=Impact(
        network_access=True,
        estimated_scope=Message.joined(", ", ("rewrites history", "publishes")),
    ),
    context=Context(
        triggered_by="claude-code", workflow_phase="release", previous_commands=("git status",)
    ),
    workspace="/srv/project",
    session="s1",
    argvs=(("git", "push", "--force", "origin", "main"),),
    cwd="/srv/project",
    grant="g" * 64,
    rules=("force-push", "push-trunk"),
    asked_at="2026-01-02T03:04:05.678Z",
    timeout_seconds=30.0,
    policy="default: confirm_dangerous",
)
DELETES = replace(
    FORCE_PUSH,
    id="7c9e6679-7425-40de-944b-e07fc1f90ae7",
    digest="e" * 64,
    command="rm -rf build dist",
    because=("deletes the tree build",),
    spans=((7, 12),),
    alternative="",
    impact=Impact(files_affected=("build", "dist"), estimated_scope="deletes; several files"),
    argvs=(("rm", "-rf", "build", "dist"),),
    rules=("delete-tree",),
    session="",
)


def question(**changes: object) -> Question:
    """A question of its own id, with some fields changed."""
    from redoma.base.identity import uuid

    return replace(FORCE_PUSH, **{"id": uuid(), **changes})


def said(to: Question, choice: Choice, **more: object) -> Answer:
    """An answer to this question."""
    return replace(
        Answer(question=to.id, digest=to.digest, choice=choice, approved_by="ana"), **more
    )


def yes(to: Question, remember: Remember = Remember.ONCE) -> Answer:
    """An approval of this question."""
    return said(to, Choice.APPROVE, remember=remember)
