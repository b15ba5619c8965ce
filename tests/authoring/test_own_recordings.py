"""A toolset of a user's own, recorded and replayed with its services dead; nothing that is written has a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import signet
from commands_in_process import run_here
from own_toolsets import ServiceHarness, call_all, declared, echoing
from processes import SIGNET, piping, run
from upstream_harness import DIRECT

CANARIES = [
    "canary-token-1f",
    "canary-header-2f",
    "canary-cookie-3f",
    "canary-setting-4f",
    "canary-call-5f",
    "canary-query-6f",
]
WEATHER = """
from __future__ import annotations
import os
from typing import Any
import msgspec
import signet


class WeatherSettings(msgspec.Struct):
    base_url: str
    api_key: str
    units: str = "metric"


api = signet.Upstream(
    lambda settings: settings.base_url,
    name="api",
    token=os.environ.get("THE_TOKEN"),
    headers={
        "X-Api-Key": os.environ.get("THE_HEADER", "none-of-them"),
        "Cookie": "id=" + os.environ.get("THE_COOKIE", ""),
    },
)
keyed = signet.Upstream(lambda settings: settings.base_url, name="keyed", token=lambda settings: settings.api_key)


@signet.tool(example={"city": "Bern"})
async def forecast(city: str, context: signet.Context) -> dict[str, Any]:
    '''Say what comes.'''
    first = await api.get(f"/days/{city}", params={"units": context.settings.units, "day": context.today()})
    headers = {"X-Token": os.environ.get("THE_CALL", "none-of-them")}
    second = await keyed.post("/days", json={"city": city}, headers=headers)
    return {"first": first.json(), "second": second.json()}


@signet.tool
async def leak() -> str:
    '''Say what nobody may hear.'''
    response = await api.get("/leak", params={"api_key": os.environ.get("THE_QUERY", ""), "q": "x"})
    raise signet.Fault(signet.Code.NOT_FOUND, f"{os.environ['THE_TOKEN']} {os.environ['THE_HEADER']} {response.text()}")


weather = signet.Toolset(name="weather", tools=[forecast, leak], settings=WeatherSettings)
"""


@pytest.fixture
def service() -> Iterator[ServiceHarness]:
    with echoing() as harness:
        yield harness


@pytest.fixture
def target(tmp_path: Path) -> str:
    path = tmp_path / "weather.py"
    path.write_text(WEATHER, encoding="utf-8")
    return str(path)


def environ(service: ServiceHarness) -> dict[str, str]:
    token, header, cookie, setting, call, query = CANARIES
    own = {"THE_TOKEN": token, "THE_HEADER": header, "THE_COOKIE": cookie, "THE_CALL": call, "THE_QUERY": query}
    return {**DIRECT, **own, "WEATHER_BASE_URL": service.url, "WEATHER_API_KEY": setting}


def tools(api: signet.Upstream, other: signet.Upstream) -> list[Callable[..., Any]]:
    async def forecast(city: str) -> dict[str, Any]:
        """Say what comes."""
        return dict((await api.get("/days", params={"city": city})).json())

    async def create(city: str) -> dict[str, Any]:
        """Make something."""
        return dict((await api.post("/days", json={"city": city})).json())

    async def compare() -> list[str]:
        """Ask two services for the same."""
        return [(await one.get("/same")).json()["headers"]["host"] for one in (api, other)]

    return [forecast, create, compare]


def test_a_recorded_run_is_the_same_with_its_services_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    tape = str(tmp_path / "tape")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("forecast", {"city": "Bern"}),
        ("forecast", {"city": "Rom"}),
        ("create", {"city": "Bern"}),
        ("create", {"city": "Rom"}),
        ("compare", {}),
        ("forecast", {"city": "Bern"}),
    ]
    with echoing() as one, echoing() as two:
        own = tools(signet.Upstream(one.url, name="one"), signet.Upstream(two.url, name="two"))
        with declared(*own) as toolset:
            one.order("status", status=503, headers={"retry-after": "0"}, match="city=Rom", times=1)
            live = call_all(toolset, *calls, record=tape)
        hosts = [url.partition("://")[2] for url in (one.url, two.url)]
        asked = (len(one.requests()), len(two.requests()))

    # Addresses at which nobody listens: a recording knows the services by name.
    own = tools(signet.Upstream("http://127.0.0.1:9", name="one"), signet.Upstream("http://127.0.0.1:9", name="two"))
    with declared(*own) as toolset:
        replayed = call_all(toolset, *calls, replay=tape)

    assert asked == (7, 1)
    assert live[4].result == {"result": hosts}
    assert [outcome.body for outcome in replayed] == [outcome.body for outcome in live]
    assert [outcome.fault for outcome in replayed] == [None] * 6


def test_what_was_not_recorded_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    tape = str(tmp_path / "tape")
    with echoing() as one:
        own = tools(signet.Upstream(one.url, name="one"), signet.Upstream(one.url, name="two"))
        with declared(*own) as toolset:
            call_all(toolset, ("forecast", {"city": "Bern"}), record=tape)
            fault = call_all(toolset, ("forecast", {"city": "Rom"}), replay=tape)[0].fault

        assert fault is not None
        assert (fault.name, fault.as_tool_result) == ("NOT_RECORDED", True)
        assert "//one/days?city=Rom" in fault.message
        assert one.targets() == ["/days?city=Bern"]


def test_a_replay_leaves_an_address_that_is_a_secret_alone(tmp_path: Path) -> None:
    class Own(msgspec.Struct):
        base_url: Annotated[str, signet.setting("where", secret=True)]

    def show(context: signet.Context) -> str:
        """Show the address."""
        return str(context.settings.base_url)

    tape = str(tmp_path / "tape")
    with declared(show, settings=Own) as toolset:
        call_all(toolset, ("show", {}), environ={"WEATHER_BASE_URL": "http://a.example"}, record=tape)
        outcome = call_all(toolset, ("show", {}), environ={"WEATHER_BASE_URL": "http://b.example"}, replay=tape)[0]

    assert outcome.result == {"result": "http://b.example"}


def test_no_secret_is_written_anywhere(service: ServiceHarness, target: str, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    flags = ("--toolsets", target, "--record", str(tape), "--log", "trace")

    done = [run_here("call", *flags, *call, env=environ(service)) for call in (("forecast", "city=Bern"), ("leak",))]

    assert [one.returncode for one in done] == [0, 1]
    # The service had them all, and sent them back; its own log has their digests.
    sent = [request.headers for request in service.requests()]
    assert [headers["x-api-key"] for headers in (sent[0], sent[2])] == ["sha256:1f681b0191b6a678"] * 2
    assert sent[1]["x-token"] == "sha256:b364af31b2d8ca3c"
    written = {path: path.read_bytes() for path in sorted(tape.rglob("*")) if path.is_file()}
    written |= {Path(f"call {number}, standard error"): one.stderr for number, one in enumerate(done)}
    written[Path("the result")] = done[0].stdout
    # The author's own fault is told to the caller as it is, and written nowhere.
    assert CANARIES[0].encode() in done[1].stdout
    told = Path("call 1, standard error")
    written[told] = b"\n".join(line for line in written[told].splitlines() if not line.startswith(b"signet: "))
    assert len(written) >= 8
    assert [(str(path), word) for path, data in written.items() for word in CANARIES if word.encode() in data] == []


def test_a_recording_is_replayed_by_its_target_without_its_secrets(
    service: ServiceHarness, target: str, tmp_path: Path
) -> None:
    tape = str(tmp_path / "tape")
    recorded = run_here("call", "--toolsets", target, "--record", tape, "forecast", "city=Bern", env=environ(service))
    asked = len(service.requests())

    again = run_here("call", "--toolsets", target, "--replay", tape, "forecast", "city=Bern")
    compared = run_here("replay", tape, "--toolsets", target)
    unnamed = run_here("replay", tape)

    assert recorded.returncode == 0, recorded.stderr
    assert (again.returncode, again.stdout) == (0, recorded.stdout), again.stderr
    assert (compared.returncode, compared.stdout.splitlines()[-1]) == (0, b"calls: 1, same: 1, different: 0")
    assert unnamed.returncode == 2
    assert unnamed.stderr.decode() == (
        "signet: the recording is of the toolset 'weather', which is not part of Signet: write --toolsets with the "
        "file, folder or module that was recorded\n"
    )
    assert len(service.requests()) == asked


def test_the_doors_agree_on_a_toolset_with_a_service(service: ServiceHarness, target: str) -> None:
    """Its variables reach the processes that are compared."""
    service.answers({"high": 3})

    own = {f"SIGNET_{name}" if name == "WEATHER_API_KEY" else name: value for name, value in environ(service).items()}

    done = run("parity", "--toolsets", target, env=own)

    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1] == "calls: 3, ways: 8, all agree"
    assert len(service.requests()) == 16


def test_a_server_records_what_its_calls_asked_for(service: ServiceHarness, target: str, tmp_path: Path) -> None:
    tape = str(tmp_path / "tape")
    call = {"name": "forecast", "arguments": {"city": "Bern"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    command = (SIGNET, "stdio", "--toolsets", target)

    with piping(*command, "--record", tape, env=environ(service)) as pipe:
        live = pipe.ask(message)
        pipe.finish()
    with piping(*command, "--replay", tape) as pipe:
        replayed = pipe.ask(message)

    assert live["result"]["structuredContent"]["first"]["target"].startswith("/days/Bern?units=metric&day=20")
    assert replayed == live
    assert len(service.requests()) == 2
