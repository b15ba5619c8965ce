"""The diagram tools of a server in this process, and a canary: a file and an address that no diagram may read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from signet.app import build_server
from signet.commands.call import walk
from signet.kernel.outcome import Outcome
from signet.settings.model import Settings

SECRET = "xyzzy-secret-of-the-canary"


class Diagrams:
    """A server with the diagram tools."""

    def __init__(self, **flags: Any) -> None:
        self._runner = asyncio.Runner()
        self.server = build_server(Settings.read({}, {"toolsets": "plantuml,plantuml-tools", **flags}))

    def call(self, name: str, **arguments: Any) -> Outcome:
        """Run one call through the pipeline."""
        return self._runner.run(walk(self.server, name, arguments))

    def result(self, name: str, **arguments: Any) -> Any:
        """Return the result of a call that must succeed."""
        outcome = self.call(name, **arguments)
        assert outcome.fault is None, outcome.fault.message
        return outcome.result

    def close(self) -> None:
        self._runner.run(self.server.close())
        self._runner.close()


@contextmanager
def diagrams(**flags: Any) -> Iterator[Diagrams]:
    harness = Diagrams(**flags)
    try:
        yield harness
    finally:
        harness.close()


class Canary:
    """A file with a secret, and a web server that counts its visitors."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "canary.txt"
        self.file.write_text(f"A -> B: {SECRET}\n", encoding="utf-8")
        self.visits: list[str] = []
        visits = self.visits

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                visits.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(f"A -> B: {SECRET}\n".encode())

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def placed(self, source: str) -> str:
        """Return a diagram that asks for the file and the address."""
        return source.replace("{file}", str(self.file)).replace("{url}", self.url)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
