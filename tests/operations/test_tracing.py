"""Spans and figures for a collector: what they say, whose children they are, and that a collector can be away."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit_logs import events_in
from door_calls import invocation, rpc
from otlp_collector import TOOLS, Collector, Span, collecting
from processes import BIN, PATIENCE_S, Server, clean_env, piping, serving
from signet.app import SCHEMA_ROOT
from signet.kernel.schemas import SchemaRegistry
from signet.operations.telemetry.tracing import Tracing
from signet.system.figures.registry import Registry
from upstream_harness import Listener, http_answer, listening

CANARY = "canary-91be"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OTHER_TRACE, OTHER_PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
META = f"00-{TRACE}-{PARENT}-01"
HEADER = f"00-{OTHER_TRACE}-{OTHER_PARENT}-01"
SERVER, CLIENT = 2, 3
UNSET, ERROR = 0, 2


def call(word: Any = CANARY, name: str = "look_up", **meta: str) -> dict[str, Any]:
    params: dict[str, Any] = {"name": name, "arguments": {"word": word}}
    return rpc("tools/call", params | ({"_meta": meta} if meta else {}), request_id="message-1")


@contextlib.contextmanager
def traced(folder: Path, *flags: str) -> Iterator[tuple[Server, Collector, Listener]]:
    (folder / "words.py").write_text(TOOLS)
    with collecting() as collector, listening(http_answer({"a": 1})) as upstream:
        env = {"WORDS_URL": upstream.url, **collector.env}
        with serving("--toolsets", str(folder / "words.py"), *flags, env=env) as server:
            yield server, collector, upstream


def spans(collector: Collector, count: int) -> list[Span]:
    collector.once(lambda now: len(now.spans) >= count)
    return collector.spans


def test_a_call_is_a_span_and_so_is_its_request_to_the_upstream_which_is_told_of_it(tmp_path: Path) -> None:
    with traced(tmp_path) as (server, collector, upstream):
        server.post("/mcp", call(), {"mcp-protocol-version": "2025-11-25"})
        client, own = sorted(spans(collector, 2), key=lambda span: -span.kind)

    digest = own.attributes.pop("signet.contract.digest")
    assert (own.name, own.kind, own.parent_id, own.status) == ("tools/call look_up", SERVER, "", (UNSET, ""))
    assert own.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "look_up",
        "gen_ai.operation.name": "execute_tool",
        "jsonrpc.request.id": "message-1",
        "mcp.protocol.version": "2025-11-25",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "client.address": "127.0.0.1",
        "signet.door": "http mcp",
        "signet.canonical_code": "OK",
        "signet.validation.mode": "enforce",
        "signet.replay": False,
    }
    assert len(digest) == 64
    assert (client.name, client.kind, client.trace_id, client.parent_id) == ("GET", CLIENT, own.trace_id, own.span_id)
    assert client.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": upstream.port,
        "signet.upstream": "words",
    }
    sent = re.findall(rb"traceparent: (.*)\r\n", upstream.received)
    # Sampled, and by now the SDK also says that the id is random.
    assert [re.sub(rb"-0[13]$", b"", one).decode() for one in sent] == [f"00-{own.trace_id}-{client.span_id}"]


@pytest.mark.parametrize(
    ("meta", "header", "trace", "parent", "links"),
    [
        (META, None, TRACE, PARENT, []),
        (None, HEADER, OTHER_TRACE, OTHER_PARENT, []),
        (META, HEADER, TRACE, PARENT, [f"{OTHER_TRACE}-{OTHER_PARENT}"]),
        ("00-nonsense", HEADER, OTHER_TRACE, OTHER_PARENT, []),
    ],
    ids=["_meta", "header", "both", "_meta is not valid"],
)
def test_the_parent_is_that_of_the_message_else_that_of_the_request(
    tmp_path: Path, meta: str | None, header: str | None, trace: str, parent: str, links: list[str]
) -> None:
    given = {"traceparent": meta, "tracestate": "vendor=1", "baggage": f"k={CANARY}"} if meta is not None else {}
    with traced(tmp_path) as (server, collector, upstream):
        server.post("/mcp", call(**given), {"traceparent": header} if header is not None else {})
        own = next(span for span in spans(collector, 2) if span.kind == SERVER)

    assert (own.trace_id, own.parent_id, own.links) == (trace, parent, links)
    assert f"traceparent: 00-{trace}-".encode() in upstream.received
    assert b"baggage" not in upstream.received, "what a client says is not for a third party"


def test_a_client_s_mistake_is_no_error_of_the_server(tmp_path: Path) -> None:
    with traced(tmp_path) as (server, collector, _):
        server.post("/mcp", rpc("no/such", {}))
        server.post("/mcp", rpc("tools/call", {"name": CANARY, "arguments": {}}))
        server.ask("POST", "/mcp", b"{", {"content-type": "application/json"})
        found = spans(collector, 3)

    assert [(span.name, span.status, span.attributes.get("error.type")) for span in found] == [
        ("_other", (UNSET, ""), None),
        ("tools/call", (UNSET, ""), None),
        ("_other", (UNSET, ""), None),
    ]
    assert [span.attributes["rpc.response.status_code"] for span in found] == ["-32601", "-32602", "-32700"]


def test_an_error_says_its_type_and_stage_and_never_the_arguments(tmp_path: Path) -> None:
    with traced(tmp_path) as (server, collector, _):
        server.post("/mcp", call(5))
        server.post("/api/tools/look_up", {"word": 5}, {"traceparent": HEADER})
        server.post("/mcp/tool/words.look_up", invocation("words.look_up", {"word": 5}))
        found = spans(collector, 3)

    told = [(span.name, span.attributes.get("error.type"), span.attributes["signet.contract.stage"]) for span in found]
    assert told[:2] == [("tools/call look_up", "tool_error", "input")] * 2
    assert found[0].status == (ERROR, "Invalid params")
    assert found[1].parent_id == OTHER_PARENT
    assert found[2].attributes["mcp.method.name"] == "mcp.tool.invoke"


def test_no_argument_result_or_token_is_sent_to_the_collector(tmp_path: Path) -> None:
    with traced(tmp_path) as (server, collector, _):
        headers = {"authorization": f"Bearer {CANARY}", "user-agent": CANARY}
        server.post("/mcp", call(), headers)
        server.post("/mcp", call([CANARY]), headers)
        server.post("/mcp", call(name=CANARY), headers)
        server.post(f"/api/tools/{CANARY}", {"word": CANARY}, headers)
        server.ask("GET", f"/{CANARY}?{CANARY}", headers=headers)
        spans(collector, 5)

    assert not [body for body in collector.raw if CANARY.encode() in body]


def test_the_figures_are_sent_under_the_names_of_the_conventions(tmp_path: Path) -> None:
    def has_figures(now: Collector) -> bool:
        return bool(now.metrics) and "mcp.server.operation.duration" in now.figures

    with traced(tmp_path) as (server, collector, _):
        server.post("/mcp", call())
        collector.once(has_figures)
        figure = collector.figures["mcp.server.operation.duration"]

    (point,) = figure.histogram.data_points
    assert (figure.unit, point.count) == ("s", 1)
    assert list(point.explicit_bounds) == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
    attributes = {pair.key: pair.value.string_value for pair in point.attributes}
    assert attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "look_up",
        "network.transport": "tcp",
    }


def test_stdio_is_traced_too_and_what_is_left_is_sent_at_the_end() -> None:
    with collecting() as collector:
        slow = {**collector.env, "OTEL_BSP_SCHEDULE_DELAY": "600000", "OTEL_METRIC_EXPORT_INTERVAL": "600000"}
        with piping(str(BIN / "signet"), "stdio", "--toolsets", "plantuml", env=slow) as pipe:
            arguments = {"plantumlCode": CANARY}
            meta = {"traceparent": META}
            pipe.ask(rpc("tools/call", {"name": "encodePlantUML", "arguments": arguments, "_meta": meta}))
            status, _, err = pipe.finish()

        (span,) = collector.spans
    assert (status, err) == (0, b"")
    assert (span.name, span.trace_id, span.parent_id) == ("tools/call encodePlantUML", TRACE, PARENT)
    assert span.attributes["network.transport"] == "pipe"
    assert "mcp.server.operation.duration" in collector.figures


@contextlib.contextmanager
def collector_that_is(how: str) -> Iterator[int]:
    """Take connections and never answer, or have nobody at the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if how == "down":
            server.close()
        yield port


@pytest.mark.parametrize("how", ["down", "hanging"])
def test_a_collector_that_is_away_fails_no_call_delays_no_end_and_is_told_once(how: str) -> None:
    with collector_that_is(how) as port:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "600",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_BSP_MAX_QUEUE_SIZE": "8",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4",
            "OTEL_METRIC_EXPORT_INTERVAL": "100",
        }
        with serving("--toolsets", "plantuml", env=env) as server:
            answers = {server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"}).status for _ in range(60)}
            server.wait_for("telemetry.failed")
            answers |= {server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"}).status for _ in range(20)}
            server.process.terminate()
            assert server.process.wait(PATIENCE_S) == 0
            log = server.stderr()

    assert answers == {200}
    assert log.count("telemetry.failed") == 1
    assert "Traceback" not in log


@pytest.mark.parametrize("command", ["serve", "stdio"])
def test_the_audit_log_is_closed_before_a_collector_is_waited_for(command: str, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    flags = ("--toolsets", "plantuml", "--audit-log", str(log))
    with socket.create_server(("127.0.0.1", 0)) as collector, contextlib.ExitStack() as stack:
        collector.settimeout(PATIENCE_S)
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.getsockname()[1]}",
            "OTEL_BSP_SCHEDULE_DELAY": "600000",
            "OTEL_METRIC_EXPORT_INTERVAL": "600000",
        }
        if command == "serve":
            server = stack.enter_context(serving(*flags, env=env))
            server.ask("GET", "/healthz")
            process = server.process
        else:
            pipe = stack.enter_context(piping(str(BIN / "signet"), "stdio", *flags, env=env))
            pipe.ask(rpc("ping", {}))
            process = pipe.process
        process.terminate()
        # It connects when it begins to send what is left, and gets no answer.
        connection, _ = collector.accept()
        with connection:
            events = events_in(log)

    assert events == ["started", "stopped"]


def test_the_end_waits_for_the_collector_once_for_spans_and_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    class Hanging:
        """A thread that sends to a collector which never answers."""

        def __init__(self, **_: Any) -> None:
            pass

        def start(self) -> None:
            pass

        def join(self, timeout: float) -> None:
            waited.append(timeout)

    with collecting() as collector:
        for name, text in collector.env.items():
            monkeypatch.setenv(name, text)
        tracing = Tracing(Registry(), SchemaRegistry(schema_root=SCHEMA_ROOT), {}, lambda: None)
        with monkeypatch.context() as patch:
            patch.setattr("signet.operations.telemetry.tracing.monotonic", lambda: sum(waited), raising=False)
            patch.setattr("signet.operations.telemetry.tracing.threading.Thread", Hanging)
            tracing.close()
        tracing.close()

    assert sum(waited) == 3.0


def test_without_the_extra_there_is_one_warning_with_the_command() -> None:
    hidden = "import sys; sys.modules['opentelemetry'] = None; from signet.commands.cli import main; sys.exit(main())"
    message = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-c", hidden, "stdio", "--toolsets", "plantuml"],
        input=message,
        capture_output=True,
        env=clean_env({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert done.stderr.count(b"[otel]'") == 1


def test_without_the_variable_nothing_of_it_is_loaded() -> None:
    probe = """
import sys
from signet.app import build_app
from signet.settings.model import Settings
build_app(Settings(toolsets="plantuml"))
print([name for name in sys.modules if "opentelemetry" in name or "operations.telemetry" in name])
"""
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, env=clean_env(), timeout=PATIENCE_S, check=True
    )

    assert done.stdout == b"[]\n"


def test_a_traced_recording_is_replayed_and_holds_nothing_of_the_trace(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    with traced(tmp_path, "--record", str(tape)) as (server, collector, upstream):
        first = server.post("/api/tools/look_up", {"word": "a"}).json()
        trace = spans(collector, 2)[0].trace_id
    env = {"WORDS_URL": upstream.url}
    with serving("--toolsets", str(tmp_path / "words.py"), "--replay", str(tape), env=env) as server:
        again = server.post("/api/tools/look_up", {"word": "a"}).json()

    assert again == first
    assert first["success"] is True
    kept = b"".join(path.read_bytes() for path in tape.rglob("*") if path.is_file())
    assert trace.encode() not in kept
