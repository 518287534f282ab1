"""Model servers on loopback that answer each request with the next tool call of a list.

Each speaks as much of one agent's API as the agent needs, and keeps what the agent sent back. So
the real agents run in a test, and no model does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Calls = Sequence[tuple[str, dict[str, object]]]
Answered = tuple[str, bytes]


class ScriptedModel:
    """The calls still to be made, and what became of those that were."""

    def __init__(self, calls: Calls) -> None:
        self.calls = list(calls)
        self.results: list[str] = []
        self.conversation = ""  # everything that the agent said last
        self.address = ""

    def heard(self, results: list[str]) -> tuple[str, dict[str, object]] | None:
        """Takes all results of the conversation so far; the call that comes next."""
        if len(results) > len(self.results):
            self.results = results
        at = len(results)
        return self.calls[at] if at < len(self.calls) else None

    def answer(self, path: str, body: dict[str, Any]) -> Answered:
        """What the API says to one request: a content type and a body."""
        raise AssertionError(f"no API is spoken here: {path} {body}")


class AnthropicModel(ScriptedModel):
    """The Messages API, for Claude Code."""

    def answer(self, path: str, body: dict[str, Any]) -> Answered:
        if "count_tokens" in path:
            return "application/json", json.dumps({"input_tokens": 10}).encode()
        parts = [
            part
            for message in body.get("messages", [])
            if isinstance(message.get("content"), list)
            for part in message["content"]
        ]
        results = [_text(part["content"]) for part in parts if part.get("type") == "tool_result"]
        call = self.heard(results) if body.get("tools") else None
        block: dict[str, object] = {"type": "text", "text": "done"}
        if call is not None:
            id = f"toolu_{len(results)}"
            block = {"type": "tool_use", "id": id, "name": call[0], "input": call[1]}
        message = {
            **{"id": f"msg_{len(results)}", "type": "message", "role": "assistant"},
            **{"model": body.get("model"), "content": [block], "stop_sequence": None},
            "stop_reason": "end_turn" if call is None else "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if not body.get("stream"):
            return "application/json", json.dumps(message).encode()
        return "text/event-stream", _events(_streamed(message, block))


def _streamed(message: dict[str, object], block: dict[str, Any]) -> list[dict[str, Any]]:
    empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
    delta = {"type": "text_delta", "text": "done"}
    if block["type"] != "text":
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    begun = {**message, "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


class OpenAIModel(ScriptedModel):
    """The Responses API, for Codex."""

    def answer(self, path: str, body: dict[str, Any]) -> Answered:
        kinds = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
        found = [item for item in body.get("input", []) if item.get("type") in kinds]
        results = [_text(item.get("output")) for item in found]
        call = self.heard(results)
        item: dict[str, object] = {"type": "message", "role": "assistant", "id": "m"}
        item["content"] = [{"type": "output_text", "text": "done"}]
        if call is not None:
            id = f"call_{len(results)}"
            namespace, _, name = call[0].rpartition("/")  # `SERVER/TOOL`, where it is a server's
            item = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name}
            if namespace:
                item["namespace"] = namespace
            item["arguments"] = json.dumps(call[1])
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
        id = f"r{len(results)}"
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": id}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": id, "usage": usage}},
        ]
        return "text/event-stream", _events(events)


class GeminiModel(ScriptedModel):
    """The API of Gemini."""

    def answer(self, path: str, body: dict[str, Any]) -> Answered:
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        found = [part["functionResponse"] for part in parts if "functionResponse" in part]
        results = [json.dumps(each.get("response"), ensure_ascii=False) for each in found]
        call = self.heard(results) if body.get("tools") else None
        part: dict[str, object] = {"text": "done"}
        if call is not None:
            part = {"functionCall": {"name": call[0], "args": call[1]}}
        said = {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                **{"promptTokenCount": 1, "candidatesTokenCount": 1},
                "totalTokenCount": 2,
            },
        }
        if "stream" in path:
            return "text/event-stream", f"data: {json.dumps(said)}\r\n\r\n".encode()
        return "application/json", json.dumps(said).encode()


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def _events(events: list[dict[str, Any]]) -> bytes:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    """The model, reached at its address while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._say(200, "text/plain", b"")

        def do_GET(self) -> None:
            self._say(200, "application/json", b'{"object": "list", "data": [], "models": []}')

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(data or b"{}")
            model.conversation = json.dumps(body, ensure_ascii=False)
            self._say(200, *model.answer(self.path, body))

        def _say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    model.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
