"""A service names the charset of its answers: tools of documents and of own files read it, and nobody waits for it."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from processes import serving

from .documents import document, operation, written

OWN = """
import signet

api = signet.Upstream("{url}", name="texts")


@signet.tool
async def read(kind: str) -> dict:
    \"\"\"Read a text.

    Args:
        kind: the charset.
    \"\"\"
    answer = await api.get("/text", params={{"kind": kind}})
    text = answer.text()
    return {{"chars": len(text), "head": text[:20]}}
"""
TEXTS: dict[str, bytes] = {
    "punycode": b"a" * 100_000 + b"-" + b"zz" * 20_000,
    "unicode_escape": b"\\u00e9" * 20_000,
    "utf-7": b"+AOk-" * 20_000,
    "shift_jis": "日本".encode("cp932") * 100_000,
    "gb18030": b"\x81\x30\xff" * 200_000,
}


@contextlib.contextmanager
def texts() -> Iterator[str]:
    """Answer with the text of a charset, compressed, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind = self.path.partition("kind=")[2]
            body = gzip.compress(TEXTS[kind])
            self.send_response(200)
            self.send_header("Content-Type", f"text/plain; charset={kind}")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def expected(kind: str) -> str:
    codec = {"shift_jis": "cp932", "gb18030": "gb18030"}.get(kind, "utf-8")
    return TEXTS[kind].decode(codec, errors="replace")


@pytest.mark.parametrize("way", ["document", "own"])
def test_the_charset_of_an_answer_is_one_of_the_list_or_utf_8(tmp_path: Path, way: str) -> None:
    query = {"name": "kind", "in": "query", "required": True, "schema": {"type": "string"}}
    value = document({"/text": {"get": operation([query], operationId="read")}})
    with texts() as url:
        path = written(tmp_path, value, "texts.json")
        if way == "own":
            (tmp_path / "texts.py").write_text(OWN.format(url=url), encoding="utf-8")
            path = str(tmp_path / "texts.py")
        env = {"TEXTS_BASE_URL": url, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        target = path if way == "own" else f"openapi:{path}"
        with serving("--toolsets", target, env=env) as server:
            replies = {kind: server.post("/api/tools/read", {"kind": kind}) for kind in TEXTS}
            assert server.ask("GET", "/healthz").status == 200

    assert {kind: reply.status for kind, reply in replies.items()} == dict.fromkeys(TEXTS, 200)
    for kind, reply in replies.items():
        result, text = reply.json()["result"], expected(kind)
        found = result if way == "own" else {"chars": len(result["result"]), "head": result["result"][:20]}
        assert (kind, found) == (kind, {"chars": len(text), "head": text[:20]})
    assert json.dumps(expected("punycode")) != json.dumps(TEXTS["punycode"].decode("punycode", errors="replace"))
