"""The bare ASGI application under uvicorn, `bare_asgi.py PORT`: MCP, envelope and REST at their paths."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from bench.peers.bare import answer_at

JSON = (b"content-type", b"application/json")


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Answer one POST."""
    message = await receive()
    body = message["body"]
    while message["more_body"]:
        message = await receive()
        body += message["body"]
    try:
        status, data = 200, answer_at(scope["path"], body)
    except ValueError:
        status, data = 400, b"{}"
    length = (b"content-length", b"%d" % len(data))
    await send({"type": "http.response.start", "status": status, "headers": [JSON, length]})
    await send({"type": "http.response.body", "body": data})


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
    )
