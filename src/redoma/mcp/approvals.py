"""Who is asked where the policy wants a confirmation: the person behind the client, or elsewhere.

Clients of the protocol's earlier revisions are asked in the middle of a call. From 2026-07-28 on a
call ends with what it needs and comes again with the answer: the run that asked waits between the
two, so that an approval is for exactly the question that was shown. A client that cannot ask
anybody leaves the question to `redoma answer`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

from redoma.i18n import phrased
from redoma.model.request import Answer, Choice, Question
from redoma.pipeline.answerers import LocalAnswerer
from redoma.pipeline.pending_questions import described
from redoma.pipeline.secrets import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeVar

    from mcp.server.mcpserver import Context

    from redoma.model.request import Answerer

    T = TypeVar("T")
    Ask = Callable[[Question], Answer]

TWO_ROUNDS = "2026-07-28"
KEY = "approval"
COLUMNS = 76


class ApprovalForm(BaseModel):
    """What the person behind the client says."""

    choice: Literal["approve", "deny", "dry_run"] = Field(
        default="deny",
        description="approve: run it now, this once. deny: do not. dry_run: run it on an overlay",
    )


class WaitingCall:
    """A call whose run waits for answers, one at a time."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._asked: asyncio.Queue[Question] = asyncio.Queue()
        self._answer: asyncio.Future[Answer] | None = None
        self._question: Question | None = None
        self._work: asyncio.Future[Any] | None = None

    def begin(self, work: Callable[[Ask], Awaitable[T]]) -> None:
        """Starts the run that may ask."""
        self._work = asyncio.ensure_future(work(self._ask))

    async def next(self) -> object:
        """The result of the run, or the question that it waits with."""
        assert self._work is not None
        question = asyncio.ensure_future(self._asked.get())
        try:
            await asyncio.wait({self._work, question}, return_when=asyncio.FIRST_COMPLETED)
            if self._work.done():
                return self._work.result()
            self._question = question.result()
            return self._question
        except asyncio.CancelledError:
            await self.cancel()
            raise
        finally:
            question.cancel()

    def hear(self, said: ElicitResult | None) -> None:
        """Passes on what the client brought; the run goes on."""
        if self._question is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(answer_to(self._question, said, self._client))

    async def cancel(self) -> None:
        """Ends the run and its whole tree."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._work

    def _ask(self, question: Question) -> Answer:
        # In a thread: the path waits here until the answer comes, or until its time is over.
        waiting = asyncio.run_coroutine_threadsafe(self._answered(question), self._loop)
        return waiting.result(question.timeout_seconds + 1)

    async def _answered(self, question: Question) -> Answer:
        self._answer = self._loop.create_future()
        self._asked.put_nowait(question)
        async with asyncio.timeout(question.timeout_seconds):
            return await self._answer


class Approvals:
    """The calls of one server that wait for an answer between two requests."""

    def __init__(self) -> None:
        self._waiting: dict[str, WaitingCall] = {}

    async def during(
        self, context: Context[Any, Any], work: Callable[[Answerer | Ask], Awaitable[T]]
    ) -> T | InputRequiredResult:
        """Does work that may ask, by whatever way this client has for questions."""
        able = context.client_capabilities
        if able is None or able.elicitation is None:
            return await work(LocalAnswerer("wait"))
        call = WaitingCall(_name_of(context))
        if not is_version_at_least(context.protocol_version or "", TWO_ROUNDS):
            call.begin(work)
            whole: T = await self._in_one(context, call)
            return whole
        if context.request_state is None:
            call.begin(work)
        else:
            # Attack: the same answer is brought twice; whoever waits is taken out, and found once.
            known = self._waiting.pop(context.request_state, None)
            if known is None:
                raise ToolError("this question is over; hint: call the tool again")
            call = known
            brought = (context.input_responses or {}).get(KEY)
            call.hear(brought if isinstance(brought, ElicitResult) else None)
        found = await call.next()
        if not isinstance(found, Question):
            return found  # type: ignore[return-value] # the result of the work
        self._waiting[found.id] = call
        asyncio.get_running_loop().call_later(
            found.timeout_seconds + 1, self._waiting.pop, found.id, None
        )
        return InputRequiredResult(
            input_requests={KEY: ElicitRequest(params=form(found))}, request_state=found.id
        )

    async def _in_one(self, context: Context[Any, Any], call: WaitingCall) -> Any:
        while isinstance(found := await call.next(), Question):
            asked = form(found)
            try:
                async with asyncio.timeout(found.timeout_seconds):
                    said: ElicitResult | None = await context.session.elicit_form(
                        asked.message, asked.requested_schema, context.request_id
                    )
            except asyncio.CancelledError:
                await call.cancel()
                raise
            except Exception:  # a client that fails to ask has not approved anything
                said = None
            call.hear(said)
        return found

    async def close(self) -> None:
        """Ends what still waits."""
        for call in list(self._waiting.values()):
            await call.cancel()
        self._waiting.clear()


def form(question: Question) -> ElicitRequestFormParams:
    """The question as a form: the command, why it is asked about, what it touches."""
    lines = described(question, columns=COLUMNS, redact=redact)
    message = "\n".join([phrased("Redoma: may this run?"), "", *lines])
    return ElicitRequestFormParams(
        message=message, requested_schema=render_elicitation_schema(ApprovalForm)
    )


def answer_to(question: Question, said: ElicitResult | None, client: str) -> Answer:
    """What a form's outcome means: whatever is not a clear yes is a no."""
    choice, notes = Choice.DENY, ""
    if said is not None and said.action == "accept":
        try:
            choice = Choice(ApprovalForm.model_validate(said.content or {}).choice)
        except ValidationError:
            notes = "the answer could not be read"
    elif said is None:
        notes = "the client brought no answer"
    return Answer(
        question=question.id,
        digest=question.digest,
        choice=choice,
        approved_by=f"the person at {client}",
        notes=notes,
    )


def _name_of(context: Context[Any, Any]) -> str:
    known = context.session.client_params
    return known.client_info.name if known is not None else "an MCP client"
