"""The programming interface as OpenAPI describes one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_FLAG = {"type": "boolean"}
_SESSION = {"$ref": "#/components/schemas/Session"}
_GUEST = {"$ref": "#/components/schemas/Guest"}
_GUEST_PATH = "/api/sessions/{id}/guests/{guest}"


def document() -> dict[str, Any]:
    """The document; a test holds it against the routes that there are."""
    one = "/api/sessions/{id}"
    sessions = _object(sessions={"type": "array", "items": _SESSION})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Redoma", "version": "1"},
        "security": [{"bearer": []}],
        "paths": {
            "/api/login": {"post": _does("Logs in by a link's token", _object(token=_TEXT))},
            "/api/login-link": {"post": _does("A new login link")},
            "/api/me": {"get": _does("Who is logged in")},
            "/api/openapi.json": {"get": _does("This document")},
            "/api/sessions": {
                "get": _does("All sessions", answer=sessions),
                "post": _does("Starts a session", _start(), _SESSION, "201"),
            },
            one: {
                "get": _does("One session", answer=_SESSION),
                "delete": _does("Ends a session", answer=_SESSION),
            },
            f"{one}/code": {"post": _does("A new code for guests")},
            "/api/join": {"post": _does("Comes with a code", _object(code=_TEXT, name=_TEXT))},
            f"{one}/ticket": {"post": _does("A ticket for a channel, good once")},
            f"{_GUEST_PATH}/admit": {"post": _does("Lets a guest in", answer=_GUEST)},
            f"{_GUEST_PATH}/refuse": {"post": _does("Sends a guest away", answer=_GUEST)},
            f"{_GUEST_PATH}/block": {"post": _does("Sends a guest's address away", answer=_GUEST)},
            f"{_GUEST_PATH}/permission": {
                "put": _does("What a guest may do", _object(permission=_LEVEL), _GUEST)
            },
            f"{one}/audit": {"get": _does("The newest rows of the audit log")},
            f"{one}/recording": {
                "get": _does("The recording as asciicast v3, or v2 with ?format=v2"),
                "post": _does("Begins or ends a recording", _object(on=_FLAG), _SESSION),
            },
        },
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Session": _session(), "Guest": _guest(), "Error": _error()},
        },
    }


_LEVEL = {"type": "string", "enum": ["none", "read_only", "read_write"]}


def _does(
    summary: str,
    body: dict[str, Any] | None = None,
    answer: dict[str, Any] | None = None,
    status: str = "200",
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "summary": summary,
        "responses": {
            status: _content("what was asked for", answer or {"type": "object"}),
            "default": _content("why not", {"$ref": "#/components/schemas/Error"}),
        },
    }
    if body is not None:
        made["requestBody"] = _content("", body)
        del made["requestBody"]["description"]
    return made


def _content(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _start() -> dict[str, Any]:
    words = dict.fromkeys(("engine", "level", "shell", "cwd", "title"), _TEXT)
    flags = dict.fromkeys(("share", "record", "record_input"), _FLAG)
    return _object(**words, **flags, cols=_NUMBER, rows=_NUMBER)


def _session() -> dict[str, Any]:
    states = {"type": "string", "enum": ["running", "frozen", "ended"]}
    return _object(
        **dict.fromkeys(("id", "title", "engine", "cwd", "changes"), _TEXT),
        **dict.fromkeys(("started", "ended", "cols", "rows", "exit_code"), _NUMBER),
        **dict.fromkeys(("recording", "recorded", "typing_recorded", "shared", "exact"), _FLAG),
        state=states,
        guests={"type": "array", "items": _GUEST},
        notes={"type": "array", "items": _TEXT},
    )


def _guest() -> dict[str, Any]:
    states = ["waiting", "admitted", "left", "refused", "blocked"]
    return _object(
        id=_TEXT,
        name=_TEXT,
        origin=_TEXT,
        state={"type": "string", "enum": states},
        permission=_LEVEL,
        since=_NUMBER,
        transport={"type": "string", "enum": ["websocket", "webrtc"]},
    )


def _error() -> dict[str, Any]:
    return _object(error=_object(code=_TEXT, message=_TEXT, hint=_TEXT))
