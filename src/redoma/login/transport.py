"""Speaks to a provider over HTTPS: certificates are always checked, no redirect is followed."""

from __future__ import annotations

from redoma.login.errors import LoginError, ProviderRefused
from redoma.login.provider import refuse_insecure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    import httpx

_LARGEST = 1 << 20
_PATIENCE = 20.0
_HEADERS = {"accept": "application/json", "user-agent": "redoma"}
_TOLD = ("authorization_pending", "slow_down")


class StillWaiting(Exception):
    """A person has not typed the code at the provider's page yet."""

    def __init__(self, *, slower: bool) -> None:
        super().__init__()
        self.slower = slower


class ProviderConnection:
    """Requests to one provider, each answered by JSON."""

    def __init__(self) -> None:
        httpx = _httpx()
        # `trust_env` stays on for proxies; no setting of ours or of the environment's turns the
        # check of certificates off.
        self._client = httpx.Client(
            verify=True, follow_redirects=False, timeout=_PATIENCE, headers=_HEADERS
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str) -> dict[str, object]:
        """What a page says."""
        return self._ask("GET", url)

    def post(self, url: str, form: Mapping[str, str]) -> dict[str, object]:
        """What is answered to a form; ProviderRefused where the answer is an error."""
        return self._ask("POST", url, form)

    def _ask(
        self, method: str, url: str, form: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        refuse_insecure(url)
        httpx = _httpx()
        try:
            with self._client.stream(method, url, data=form) as response:
                body = b""
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > _LARGEST:
                        raise LoginError(f"{url} answers with more than is read")
        except httpx.HTTPError as error:
            raise LoginError(
                f"{url} cannot be reached: {error or type(error).__name__}",
                hint="certificates are always checked; redoma doctor says what the network does",
            ) from None  # its frames have the form
        return self._read(url, response, body)

    def _read(self, url: str, response: httpx.Response, body: bytes) -> dict[str, object]:
        import json

        if response.is_redirect:
            raise LoginError(f"{url} leads elsewhere, and no redirect is followed")
        try:
            said = json.loads(body) if body else {}
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise LoginError(f"{url} answers with status {response.status_code} and no JSON object")
        code = said.get("error")
        if isinstance(code, str) and code in _TOLD:
            raise StillWaiting(slower=code == "slow_down")
        if code is not None or response.status_code >= 400:
            raise ProviderRefused(
                f"the provider refuses: {_plain(code or response.status_code)}"
                f" {_plain(said.get('error_description', ''))}".rstrip(),
                error=_plain(code or ""),
                hint="redoma login, to begin anew",
            )
        return said


def _plain(value: object) -> str:
    """Something that a provider says, short and without what acts on a terminal."""
    from redoma.base.text import harmless

    return harmless(str(value))[:200]


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise LoginError(
            "logging in needs packages that are not installed", hint="pip install 'redoma[login]'"
        ) from None
    return httpx
