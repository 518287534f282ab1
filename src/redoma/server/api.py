"""The programming interface over HTTP: JSON in, JSON out, a bearer for each request."""

from __future__ import annotations

import json
import os
import secrets

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from redoma.i18n import ENGLISH, in_language, known
from redoma.model.errors import IsolationError, RedomaError, Refused, UsageError
from redoma.sessions import trail
from redoma.sessions.asciicast import as_v2
from redoma.sessions.errors import (
    CodeRefused,
    NoSuchSession,
    NotAdmitted,
    SessionError,
    TooManyAttempts,
)
from redoma.sessions.jail_terminal import TerminalPlan
from redoma.sessions.people import PermissionLevel
from redoma.sessions.tickets import Bearer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from redoma.sessions.house import Sessions
    from redoma.sessions.session import Session

    Handler = Callable[[Request], Awaitable[Response]]

MOST_BODY = 64 << 10
_STATUS = (
    (TooManyAttempts, 429),
    (CodeRefused, 403),
    (NoSuchSession, 404),
    (NotAdmitted, 403),
    (UsageError, 400),
    (IsolationError, 409),
    (Refused, 403),
    (SessionError, 409),
)
_LANGUAGES = ("en", "pt-BR")


class BearerMissing(SessionError):
    """No bearer that is known came with a request."""

    code = "not-logged-in"


class Api:
    """What each path does."""

    def __init__(self, sessions: Sessions, *, webrtc: bool, link: Callable[[str], str]) -> None:
        """`link` makes the address of a page for somebody else."""
        self._sessions = sessions
        self._webrtc = webrtc
        self._link = link

    def routes(self) -> list[Route]:
        one = "/api/sessions/{id}"
        guest = one + "/guests/{guest}"
        rows: list[tuple[str, str, Handler]] = [
            ("POST", "/api/login", self.login),
            ("POST", "/api/login-link", self.login_link),
            ("GET", "/api/me", self.me),
            ("GET", "/api/openapi.json", self.openapi),
            ("GET", "/api/sessions", self.list),
            ("POST", "/api/sessions", self.start),
            ("GET", one, self.show),
            ("DELETE", one, self.end),
            ("POST", one + "/code", self.code),
            ("POST", "/api/join", self.join),
            ("POST", one + "/ticket", self.ticket),
            ("POST", guest + "/admit", self.admit),
            ("POST", guest + "/refuse", self.refuse),
            ("POST", guest + "/block", self.block),
            ("PUT", guest + "/permission", self.permission),
            ("GET", one + "/audit", self.audit),
            ("POST", one + "/recording", self.record),
            ("GET", one + "/recording", self.recording),
        ]
        return [Route(path, _worded(does), methods=[method]) for method, path, does in rows]

    # Who asks

    def _bearer(self, request: Request) -> Bearer:
        given = request.headers.getlist("authorization")
        kind, _, text = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        bearer = self._sessions.bearers.find(text) if kind.lower() == "bearer" else None
        if bearer is None:
            raise BearerMissing("this needs a login", hint="redoma serve prints a new link")
        return bearer

    def _host(self, request: Request) -> None:
        if not self._bearer(request).is_host:
            raise NotAdmitted("only the host may do this")

    def _session(self, request: Request) -> Session:
        self._host(request)
        return self._sessions.get(request.path_params["id"])

    async def login(self, request: Request) -> Response:
        given = _text(await _body(request), "token")
        bearer = self._sessions.logins.take(given)
        if bearer is None:
            raise BearerMissing(
                "this login link was used, or is over", hint="redoma session link gives a new one"
            )
        return JSONResponse({"bearer": self._sessions.bearers.issue(bearer), "role": "host"})

    async def login_link(self, request: Request) -> Response:
        self._host(request)
        token = self._sessions.logins.issue(Bearer())
        return JSONResponse({"link": self._link(f"/#login={token}")})

    async def me(self, request: Request) -> Response:
        from redoma.i18n import language
        from redoma.jail.engines.registry import DECLARED

        bearer = self._bearer(request)
        about: dict[str, object] = {
            "role": "host" if bearer.is_host else "guest",
            "language": language(),
            "webrtc": self._webrtc,
        }
        if bearer.is_host:
            about["engines"] = [each.name for each in DECLARED if each.confines]
            about["cwd"] = os.getcwd()
        return JSONResponse(about)

    async def openapi(self, _request: Request) -> Response:
        from redoma.server.openapi import document

        return JSONResponse(document())

    # Sessions

    async def list(self, request: Request) -> Response:
        self._host(request)
        return JSONResponse({"sessions": [described(each) for each in self._sessions]})

    async def start(self, request: Request) -> Response:
        self._host(request)
        body = await _body(request)
        plan = TerminalPlan(
            workspace=_text(body, "cwd"),
            engine=_text(body, "engine"),
            level=_text(body, "level"),
            shell=_text(body, "shell"),
            columns=_number(body, "cols", 80),
            rows=_number(body, "rows", 24),
        )
        session = self._sessions.start(
            plan,
            record=body.get("record") is True,
            record_input=body.get("record_input") is True,
            title=_text(body, "title"),
        )
        await self._sessions.begun(session)
        answer = described(session)
        if body.get("share") is True:
            answer["invitation"] = self._invitation(session)
        return JSONResponse(answer, 201)

    async def show(self, request: Request) -> Response:
        return JSONResponse(described(self._session(request)))

    async def end(self, request: Request) -> Response:
        session = self._session(request)
        session.end("host")
        await session.wait()
        return JSONResponse(described(session))

    async def code(self, request: Request) -> Response:
        return JSONResponse(self._invitation(self._session(request)))

    def _invitation(self, session: Session) -> dict[str, object]:
        import time

        code = self._sessions.code(session.id)
        left = code.expires - time.monotonic()
        return {
            "code": code.text,
            "expires": time.time() + left,
            "link": self._link(f"/join#code={code.text}"),
        }

    async def join(self, request: Request) -> Response:
        body = await _body(request)
        origin = request.client.host if request.client is not None else ""
        joined = self._sessions.join(_text(body, "code"), _text(body, "name"), origin)
        return JSONResponse(
            {
                "bearer": joined.bearer,
                "session": joined.session,
                "guest": joined.guest.id,
                "name": joined.guest.name,
            }
        )

    async def ticket(self, request: Request) -> Response:
        bearer, id = self._bearer(request), request.path_params["id"]
        if not bearer.is_host and bearer.session != id:
            raise NotAdmitted("this is another session's guest")
        session = self._sessions.running(id)
        whose = Bearer(session=session.id, guest=bearer.guest)
        return JSONResponse({"ticket": self._sessions.tickets.issue(whose)})

    # Guests

    async def admit(self, request: Request) -> Response:
        guest = self._session(request).guests.admit(request.path_params["guest"])
        return JSONResponse(dict(guest.seen_by_host()))

    async def refuse(self, request: Request) -> Response:
        session, id = self._session(request), request.path_params["guest"]
        guest = session.guests.refuse(id)
        self._sessions.bearers.forget_guest(session.id, id)
        return JSONResponse(dict(guest.seen_by_host()))

    async def block(self, request: Request) -> Response:
        session, id = self._session(request), request.path_params["guest"]
        guest = session.guests.block(id)
        self._sessions.bearers.forget_guest(session.id, id)
        return JSONResponse(dict(guest.seen_by_host()))

    async def permission(self, request: Request) -> Response:
        session = self._session(request)
        wanted = _text(await _body(request), "permission")
        try:
            level = PermissionLevel(wanted)
        except ValueError:
            known = ", ".join(each.value for each in PermissionLevel)
            raise UsageError(
                "{name} is no permission", name=repr(wanted), hint=f"one of {known}"
            ) from None
        guest = session.guests.set_permission(request.path_params["guest"], level, "host")
        return JSONResponse(dict(guest.seen_by_host()))

    # What is kept

    async def audit(self, request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        session = self._session(request)
        return JSONResponse({"events": await run_in_threadpool(trail.rows, session.id)})

    async def record(self, request: Request) -> Response:
        session = self._session(request)
        body = await _body(request)
        self._sessions.running(session.id).record(on=body.get("on") is True)
        return JSONResponse(described(session))

    async def recording(self, request: Request) -> Response:
        session = self._session(request)
        session.recording.settle()
        if not os.path.exists(session.recording.path):
            raise NoSuchSession("the session {id} was not recorded", id=session.id)
        older = request.query_params.get("format") == "v2"

        def lines() -> Any:
            with open(session.recording.path, encoding="utf-8") as file:
                yield from as_v2(iter(file)) if older else file

        name = f"redoma-{session.id}{'-v2' if older else ''}.cast"
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        return StreamingResponse(lines(), media_type="application/x-asciicast", headers=headers)


def described(session: Session) -> dict[str, object]:
    """A session as a page or a program reads it."""
    about: dict[str, object] = {
        "id": session.id,
        "title": session.title,
        "engine": session.engine,
        "cwd": session.workspace,
        "state": session.state.value,
        "started": session.started,
        "recording": session.recording.on,
        "recorded": os.path.exists(session.recording.path),
        "typing_recorded": session.recording.with_input,
        "shared": session.shared,
        "exact": session.exact,
        "cols": session.columns,
        "rows": session.rows,
        "guests": [dict(guest.seen_by_host()) for guest in session.guests],
    }
    if session.ended:
        about["ended"] = session.ended
        about["exit_code"] = session.exit_code
        about["notes"] = [str(note) for note in session.notes]
        about["changes"] = session.changes
    return about


def _worded(does: Handler) -> Handler:
    """The same; what cannot be done is said as JSON, with what to do next."""

    async def answer(request: Request) -> Response:
        try:
            response = await does(request)
        except RedomaError as error:
            response = error_response(error, _reads(request))
        except OSError as error:
            said = SessionError(error.strerror or str(error))
            response = error_response(said, _reads(request))
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response

    return answer


def _reads(request: Request) -> str:
    """The language that whoever asks reads first, where it is one of ours; English else."""
    first = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0]
    try:
        return known(first.strip())
    except UsageError:
        return ENGLISH


def error_response(error: RedomaError, language: str) -> JSONResponse:
    status = 401 if isinstance(error, BearerMissing) else 500
    for kind, number in _STATUS:
        if status == 500 and isinstance(error, kind):
            status = number
    said = {
        "code": error.code,
        "message": in_language(str(error), language),
        "hint": in_language(error.hint, language),
    }
    headers = {"Retry-After": "60"} if status == 429 else {}
    return JSONResponse({"error": said}, status, headers)


async def _body(request: Request) -> dict[str, object]:
    """The request's JSON object; a small one, and said to be JSON.

    Attack: a form of another page can send text without asking first, but not JSON by its name.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UsageError("a body has to be application/json")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BODY:
            raise UsageError("a body is longer than {size} bytes", size=MOST_BODY)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("a body has to be a JSON object")
    return found


def _text(body: dict[str, object], name: str) -> str:
    value = body.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 4096:
        raise UsageError("{name} has to be a text", name=name)
    return value


def _number(body: dict[str, object], name: str, usual: int) -> int:
    value = body.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError("{name} has to be a number", name=name)
    return value


def new_nonce() -> str:
    """What marks the scripts of one answer as ours."""
    return secrets.token_urlsafe(18)
