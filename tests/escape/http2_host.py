"""A host of the tests' own that speaks HTTP/2: echoes, streams, and answers as gRPC does."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress

import h2.config
import h2.connection
import h2.events
import h2.exceptions


class Http2Host:
    """Listens on this machine and keeps the head of every request."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[dict[str, str]] = []
        self.connections = 0
        if context is not None:
            context.set_alpn_protocols(["h2"])
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def lines(self) -> list[str]:
        return [f"{each[':method']} {each[':path']}" for each in self.asked]

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with suppress(OSError, h2.exceptions.ProtocolError):
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            self.connections += 1
            config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
            made = h2.connection.H2Connection(config)
            made.initiate_connection()
            client.sendall(made.data_to_send())
            heads: dict[int, dict[str, str]] = {}
            waiting: dict[int, bytes] = {}
            while data := client.recv(65536):
                for event in made.receive_data(data):
                    self._happened(made, event, heads, waiting)
                client.sendall(made.data_to_send())
        client.close()

    def _happened(
        self,
        made: h2.connection.H2Connection,
        event: object,
        heads: dict[int, dict[str, str]],
        waiting: dict[int, bytes],
    ) -> None:
        if isinstance(event, h2.events.RequestReceived):
            head = dict(event.headers)
            heads[event.stream_id] = head
            self.asked.append(head)
            grpc = head.get("content-type", "").startswith("application/grpc")
            kind = "application/grpc" if grpc else "text/plain"
            if head[":path"] == "/grpc.Test/Denies":
                made.send_headers(
                    event.stream_id,
                    [(":status", "200"), ("content-type", kind), ("grpc-status", "5")],
                    end_stream=True,
                )
                return
            made.send_headers(event.stream_id, [(":status", "200"), ("content-type", kind)])
            if head[":path"] == "/echo":
                said = "".join(f"{k}: {v}\n" for k, v in head.items()).encode()
                made.send_data(event.stream_id, said)
            if head[":path"] == "/big":
                waiting[event.stream_id] = b"x" * (3 << 20)
        elif isinstance(event, h2.events.DataReceived):
            made.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            made.send_data(event.stream_id, event.data)  # at once: both directions are open
        elif isinstance(event, h2.events.StreamEnded):
            head = heads[event.stream_id]
            if head[":path"] == "/grpc.Test/Denies":
                return
            if event.stream_id not in waiting:
                secret = head.get("authorization", "")
                made.send_headers(
                    event.stream_id, [("grpc-status", "0"), ("x-said", secret)], end_stream=True
                )
        for number, left in list(waiting.items()):
            rest = left
            while rest:
                room = min(made.local_flow_control_window(number), made.max_outbound_frame_size)
                if room <= 0:
                    break
                made.send_data(number, rest[:room])
                rest = rest[room:]
            waiting[number] = rest
            if not rest:
                made.end_stream(number)
                del waiting[number]
