"""The metrics port: figures that Prometheus' own parser reads, summed over processes, with labels of our own alone."""

from __future__ import annotations

import fcntl
import http.client
import os
import re
import shutil
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from door_calls import invocation, modern_headers, rpc
from otlp_collector import TOOLS
from processes import PATIENCE_S, Server, run, serving
from signet.operations.telemetry.exposition import exposition
from signet.system.figures.families import BY_NAME
from signet.system.figures.folder import MAX_ENDED, MetricsFolder
from signet.system.figures.registry import MAX_CELLS, Registry
from upstream_harness import http_answer, listening

CALL = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}})
CANARY = "canary-7f3a"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def metrics_of(server: Server) -> str:
    """Return the URL of a server's metrics."""
    server.wait_for("Metrics are at ")
    found = re.search(r"Metrics are at http://127\.0\.0\.1:(\d+)/metrics", server.stderr())
    assert found is not None
    return found.group(1)


def ask(port: str, method: str = "GET", path: str = "/metrics", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE_S)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def samples(server: Server) -> Samples:
    return parsed(ask(metrics_of(server))[2])


def value(found: Samples, name: str, **labels: str) -> float:
    """Return the sum of the samples of a name that have these labels."""
    wanted = set(labels.items())
    return sum(number for (own, pairs), number in found.items() if own == name and wanted <= set(pairs))


def wait_for(server: Server, name: str, number: float, **labels: str) -> Samples:
    deadline = time.monotonic() + PATIENCE_S
    while value(found := samples(server), name, **labels) != number:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_every_operation_is_counted_by_method_tool_error_transport_and_version() -> None:
    count = "mcp_server_operation_duration_seconds_count"
    modern = rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": "A"}}, modern=True)
    with serving("--toolsets", "plantuml", "--metrics-port", "0") as server:
        server.post("/mcp", CALL, {"mcp-protocol-version": "2025-11-25"})
        server.post("/mcp", modern, modern_headers("tools/call", "encodePlantUML"))
        server.post("/mcp", rpc("tools/list", {}))
        server.post("/mcp", rpc("tools/call", {"name": "encodePlantUML", "arguments": {"plantumlCode": 5}}))
        server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"})
        server.post("/mcp/tool/plantuml.encode", invocation("plantuml.encode", {"plantumlCode": "A"}))
        server.ask("POST", "/mcp", b"{", {"content-type": "application/json"})
        found = samples(server)

    def counted(method: str, tool: str = "", error: str = "", version: str = "") -> float:
        labels = {"mcp_method_name": method, "gen_ai_tool_name": tool, "error_type": error}
        return value(found, count, **labels, mcp_protocol_version=version, network_transport="tcp")

    assert counted("tools/call", "encodePlantUML", version="2025-11-25") == 1
    assert counted("tools/call", "encodePlantUML", version="2026-07-28") == 1
    assert counted("tools/list") == 1
    assert counted("tools/call", "encodePlantUML", "tool_error") == 1
    assert counted("tools/call", "encodePlantUML") == 1, "REST"
    assert counted("mcp.tool.invoke", "encodePlantUML") == 1
    assert counted("_other") == 1, "a message that is not JSON, and no error of the server"
    assert value(found, count) == 7
    assert value(found, "http_server_request_duration_seconds_count", http_route="/mcp") == 5
    assert value(found, "http_server_request_duration_seconds_count", http_response_status_code="400") == 1
    violated = {"tool": "encodePlantUML", "stage": "input", "mode": "enforce"}
    assert value(found, "signet_contract_violations_total", **violated) == 1


def test_the_bounds_are_those_of_the_conventions() -> None:
    with serving("--toolsets", "plantuml", "--metrics-port", "0") as server:
        server.post("/mcp", CALL)
        found = samples(server)

    bounds = {dict(pairs)["le"] for name, pairs in found if name == "mcp_server_operation_duration_seconds_bucket"}
    numbers = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
    assert sorted(map(float, bounds)) == [*map(float, numbers), float("inf")]


def test_nothing_that_a_client_makes_up_becomes_a_label() -> None:
    with serving("--toolsets", "plantuml", "--metrics-port", "0") as server:
        server.post("/mcp", rpc(CANARY, {}))
        server.post("/mcp", rpc("tools/call", {"name": CANARY, "arguments": {CANARY: CANARY}}))
        server.post("/mcp", rpc("tools/list", {}), {"mcp-protocol-version": CANARY})
        server.post(f"/api/tools/{CANARY}", {CANARY: CANARY})
        server.post(f"/mcp/tool/{CANARY}", invocation(CANARY, {}))
        server.ask("GET", f"/{CANARY}")
        server.ask(CANARY.upper(), "/mcp")
        server.ask("GET", "/healthz", headers={"authorization": f"Bearer {CANARY}", "x-request-id": CANARY})
        text = ask(metrics_of(server))[2]

    assert CANARY not in text.lower()
    found = parsed(text)
    assert value(found, "mcp_server_operation_duration_seconds_count", gen_ai_tool_name="_unknown") == 3
    assert value(found, "mcp_server_operation_duration_seconds_count", mcp_method_name="_other") >= 1
    assert value(found, "http_server_request_duration_seconds_count", http_request_method="_OTHER") == 1


def test_one_page_shows_all_workers_and_keeps_what_a_killed_one_has_counted(tmp_path: Path) -> None:
    name = "mcp_server_operation_duration_seconds_count"
    flags = ("--toolsets", "plantuml", "--workers", "2", "--metrics-port", "0")
    with serving(*flags, env={"TMPDIR": str(tmp_path)}) as server:
        answered: list[str] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(set(answered)) < 2:
            assert time.monotonic() < deadline, "both workers answer"
            answered.append(server.post("/mcp", CALL).headers["x-request-id"].partition("-")[0])
        assert value(samples(server), name) == len(answered)

        worker = min(int(file.name.partition("-")[0]) for file in tmp_path.glob("signet-metrics-*/*.cells"))
        os.kill(worker, signal.SIGKILL)
        server.wait_for(f"worker {worker} ended with status -9, another one takes its place")
        for _ in range(10):
            server.post("/mcp", CALL)
        found = wait_for(server, name, len(answered) + 10)

    assert value(found, "signet_build_info") == 1
    assert value(found, "signet_calls_in_flight") == 0
    assert server.process.returncode == 0
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_requests_to_upstreams_and_records_of_the_journal_are_counted(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(TOOLS)
    with (
        listening(http_answer({"a": 1})) as upstream,
        serving(
            *("--toolsets", str(tmp_path / "words.py"), "--metrics-port", "0"), env={"WORDS_URL": upstream.url}
        ) as server,
    ):
        assert server.post("/api/tools/look_up", {"word": CANARY}).status == 200
        found = wait_for(server, "signet_journal_records_total", 1)
        shown = server.ask("GET", "/-/health", headers={"accept": "application/json"}).json()

    assert shown["recordsWritten"] == 1, "the console reads the same figure"
    assert value(found, "signet_upstream_request_duration_seconds_count", upstream="words", code="200") == 1
    assert value(found, "signet_journal_lag_seconds") == 0


def test_the_decisions_of_limits_are_counted() -> None:
    with serving("--toolsets", "plantuml", "--metrics-port", "0", "--rate-limit", "2/day") as server:
        statuses = [server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"}).status for _ in range(3)]
        found = samples(server)

    assert statuses == [200, 200, 429]
    assert value(found, "signet_rate_limit_decisions_total", decision="allowed", scope="address") == 2
    assert value(found, "signet_rate_limit_decisions_total", decision="refused", scope="address") == 1
    assert value(found, "signet_rate_limit_check_duration_seconds_count") == 3


@pytest.fixture(scope="module")
def quiet_server() -> Any:
    with serving("--toolsets", "plantuml", "--metrics-port", "0") as server:
        yield server


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/metrics", {}, 200),
        ("HEAD", "/metrics", {}, 200),
        ("GET", "/", {}, 200),
        ("POST", "/metrics", {}, 405),
        ("GET", "/mcp", {}, 404),
        ("GET", "/metrics", {"Host": "evil.example"}, 421),
        ("GET", "/metrics", {"Origin": "http://evil.example"}, 403),
    ],
)
def test_the_port_has_one_page(
    quiet_server: Server, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answered, fields, body = ask(metrics_of(quiet_server), method, path, **headers)

    assert answered == status
    if (path, status) == ("/metrics", 200):
        assert fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    if path == "/":
        assert "/metrics" in body


def test_a_client_that_sends_nothing_keeps_nobody_from_the_page(quiet_server: Server) -> None:
    port = int(metrics_of(quiet_server))
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: loc")

        assert ask(str(port))[0] == 200


def test_the_tools_port_has_no_metrics(quiet_server: Server) -> None:
    assert quiet_server.ask("GET", "/metrics").status == 404


def test_a_port_that_cannot_be_had_is_refused(quiet_server: Server) -> None:
    done = run("serve", "--port", "0", "--toolsets", "plantuml", "--metrics-port", metrics_of(quiet_server))

    assert done.returncode == 2
    assert b"write another --metrics-host or --metrics-port" in done.stderr


# --- the registry and its folder


def test_the_counts_of_ended_processes_are_summed_up_in_one_file_and_their_gauges_are_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = MetricsFolder.create()
    for number in range(MAX_ENDED + 2):
        child = os.fork()
        if not child:
            registry = Registry(folder.enter())
            registry.counter("signet_store_errors_total").inc(number)
            registry.histogram("signet_rate_limit_check_duration_seconds").observe(0.002)
            registry.gauge("signet_calls_in_flight").inc()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    registry = Registry(folder.enter())
    registry.gauge("signet_calls_in_flight").inc(3)
    found = parsed(exposition(folder.figures()).decode())

    assert value(found, "signet_store_errors_total") == sum(range(MAX_ENDED + 2))
    assert value(found, "signet_rate_limit_check_duration_seconds_count") == MAX_ENDED + 2
    assert value(found, "signet_rate_limit_check_duration_seconds_sum") == pytest.approx(0.002 * (MAX_ENDED + 2))
    assert value(found, "signet_calls_in_flight") == 3
    assert len(list(Path(folder.path).glob("*.cells"))) <= 3
    folder.leave()
    assert not Path(folder.path).exists()


def test_what_another_user_has_put_into_the_temporary_folder_stops_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "signet-metrics-odd").mkdir()
    os.mkfifo(tmp_path / "signet-metrics-odd" / "owner")

    folder = MetricsFolder.create()

    assert sorted(os.listdir(tmp_path)) == sorted(["signet-metrics-odd", Path(folder.path).name])
    folder.leave()


def test_the_folder_of_a_killed_server_is_removed_by_the_next(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = MetricsFolder.create()
    child = os.fork()
    if not child:
        MetricsFolder.create()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2

    new = MetricsFolder.create()

    assert {path.name for path in tmp_path.iterdir()} == {Path(kept.path).name, Path(new.path).name}


def test_a_folder_that_is_just_being_made_is_not_removed_by_another_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lock = fcntl.flock
    others: list[MetricsFolder] = []

    def lock_late(file: int, how: int) -> None:
        """Let another server start in the moment before a lock is taken."""
        if how & fcntl.LOCK_EX and not others:
            monkeypatch.setattr(fcntl, "flock", lock)
            others.append(MetricsFolder.create())
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    mine = MetricsFolder.create()

    assert others
    mine.enter().close()
    assert {path.name for path in tmp_path.iterdir()} == {Path(mine.path).name, Path(others[0].path).name}


def test_without_its_folder_a_server_goes_on_and_the_page_says_why_it_is_away(tmp_path: Path) -> None:
    flags = ("--toolsets", "plantuml", "--workers", "2", "--metrics-port", "0")
    with serving(*flags, env={"TMPDIR": str(tmp_path)}) as server:
        assert samples(server)
        (folder,) = tmp_path.glob("signet-metrics-*")
        workers = {int(file.name.partition("-")[0]) for file in folder.glob("*.cells")}
        shutil.rmtree(folder)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
            server.wait_for(f"worker {worker} ended with status -9")
        server.wait_for("metrics.unwritable")

        assert server.post("/mcp", CALL).status == 200
        status, _, body = ask(metrics_of(server))
        assert server.stderr().count("another one takes its place") == len(workers)

    assert status == 503
    assert "No such file or directory" in body


def test_the_version_that_a_request_states_counts_at_the_doors_of_mcp_alone() -> None:
    name = "mcp_server_operation_duration_seconds_count"
    with serving("--toolsets", "plantuml", "--metrics-port", "0") as server:
        for version in ("2025-11-25", "2025-06-18", CANARY):
            server.post("/api/tools/encodePlantUML", {"plantumlCode": "A"}, {"mcp-protocol-version": version})
            server.post("/api/tools/encodePlantUML", {"plantumlCode": 5}, {"mcp-protocol-version": version})
        server.post("/mcp", rpc("tools/list", {}), {"mcp-protocol-version": CANARY})
        found = samples(server)

    assert value(found, name, mcp_method_name="tools/call", mcp_protocol_version="") == 6
    assert value(found, name, mcp_method_name="tools/list", mcp_protocol_version="_other") == 1
    assert value(found, name) == 7


def test_figures_without_room_are_lost_and_nothing_else(tmp_path: Path) -> None:
    registry = Registry()
    first = registry.counter("signet_rate_limit_decisions_total", {"decision": "first", "scope": "one"})
    for number in range(MAX_CELLS + 10):
        registry.counter("signet_rate_limit_decisions_total", {"decision": str(number), "scope": "one"}).inc()
    first.inc(2)

    figures = registry.figures()

    assert figures["signet_rate_limit_decisions_total", ("first", "one")] == [2.0]
    assert len(figures) < MAX_CELLS


def test_the_file_of_figures_has_room_on_the_disk_from_the_start(tmp_path: Path) -> None:
    """The system ends a process that writes to the memory of a file for which a full disk has no room."""
    cells = MetricsFolder(str(tmp_path)).enter()
    [status] = [path.stat() for path in tmp_path.glob("*.cells")]
    cells.close()

    assert (status.st_size, status.st_blocks * 512 >= status.st_size) == (524_288, True)


def test_a_label_is_escaped_as_the_format_says() -> None:
    registry = Registry()
    registry.counter("signet_rate_limit_decisions_total", {"decision": 'a"b\\c\nd', "scope": "x"}).inc()

    found = parsed(exposition(registry.figures()).decode())

    assert value(found, "signet_rate_limit_decisions_total", decision='a"b\\c\nd') == 1


def test_the_names_are_those_that_dashboards_know() -> None:
    assert set(BY_NAME) == {
        "mcp_server_operation_duration_seconds",
        "http_server_request_duration_seconds",
        "signet_contract_violations_total",
        "signet_calls_in_flight",
        "signet_rate_limit_decisions_total",
        "signet_rate_limit_fail_open_total",
        "signet_rate_limit_check_duration_seconds",
        "signet_store_errors_total",
        "signet_upstream_request_duration_seconds",
        "signet_journal_records_total",
        "signet_journal_lag_seconds",
        "signet_child_restarts_total",
        "signet_lock_drift",
        "signet_build_info",
    }
