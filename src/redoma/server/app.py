"""The application: the page and its files, the programming interface, the terminal's channels."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute

from redoma.server.api import Api, new_nonce
from redoma.server.channel import Channels
from redoma.server.origin_check import OnlyOwnNames
from redoma.server.pages import console_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from redoma.sessions.house import Sessions

PAGES = ("/", "/sessions", "/sessions/{id}", "/sessions/{id}/replay", "/join")


def application(
    sessions: Sessions, *, scheme: str, webrtc: bool, link: Callable[[str], str]
) -> OnlyOwnNames:
    """The whole application for these sessions; its names are added when its port is known."""
    channels = Channels(sessions)
    api = Api(sessions, webrtc=webrtc, link=link)
    routes = [
        *(Route(path, _page, methods=["GET"]) for path in PAGES),
        Route("/assets/{path:path}", _asset, methods=["GET"]),
        *api.routes(),
        WebSocketRoute("/api/sessions/{id}/channel", channels.serve),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return OnlyOwnNames(app, scheme=scheme)


async def _page(_request: Request) -> Response:
    nonce = new_nonce()
    page = console_page()
    return Response(page.html(nonce), headers=page.headers(nonce))


async def _asset(request: Request) -> Response:
    page = console_page()
    asset = page.asset(request.path_params["path"])
    if asset is None:
        return PlainTextResponse("not found", 404)
    return Response(asset.content, headers=page.asset_headers(asset))
