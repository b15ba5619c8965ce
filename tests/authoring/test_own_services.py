"""A service of a user's own, on a real socket: `signet.Upstream` and what comes of its requests."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import signet
from own_toolsets import ServiceHarness, call, call_all, declared, echoing
from signet.kernel.tools import NULL_CONTEXT
from signet.kernel.waiting import Waiting
from signet.upstream.switchboard import Switchboard, open_service
from upstream_harness import hashed_bearer

AT_ONCE = {"retry-after": "0"}


@pytest.fixture(scope="module")
def service() -> Iterator[ServiceHarness]:
    with echoing() as harness:
        yield harness


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def ask(api: signet.Upstream, method: str = "GET", path: str = "/x", **given: Any) -> Any:
    """Send one request in a call of a tool; return the tool's result, or its fault."""

    async def forecast() -> dict[str, Any]:
        """Say what comes."""
        response = await api.request(method, path, **given)
        return {"status": response.status, "type": response.content_type, "json": response.json()}

    with declared(forecast) as toolset:
        outcome = call(toolset, ("forecast", {}))
    return outcome.fault or outcome.result


def seen(result: dict[str, Any]) -> dict[str, Any]:
    """Return the request that the service answered with."""
    return dict(result["json"])


def test_a_response_has_a_status_a_type_and_a_body_as_json_and_text(service: ServiceHarness) -> None:
    service.order("answer", status=404, type="Text/Plain; charset=iso-8859-1", body="é")
    api = signet.Upstream(service.url)

    response = asyncio.run(api.get("/x"))

    assert (response.status, response.content_type) == (404, "text/plain; charset=iso-8859-1")
    assert (response.body, response.text()) == ("é".encode(), "Ã©")
    with pytest.raises(signet.Fault) as caught:
        response.json()
    assert caught.value.message == "127.0.0.1 answered with status 404, text/plain; charset=iso-8859-1: it is not JSON"


def test_json_may_have_a_type(service: ServiceHarness) -> None:
    class Day(msgspec.Struct):
        high: int

    service.answers({"high": 3})
    response = asyncio.run(signet.Upstream(service.url).get("/x"))

    assert response.json(Day) == Day(3)
    with pytest.raises(signet.Fault, match=r"Expected `str`, got `int`"):
        response.json(dict[str, str])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_request_is_sent_as_it_is_written(service: ServiceHarness, method: str) -> None:
    api = signet.Upstream(f"{service.url}/v1/", headers={"X-Team": "seven"})
    send = {"POST": api.post, "PUT": api.put, "PATCH": api.patch, "DELETE": api.delete}[method]
    given = {"params": {"q": "a b&c", "all": True, "none": None, "n": [1, 2]}, "headers": {"X-One": "1"}}

    request = asyncio.run(_sent(send("days/Zürich?x=1", json={"b": 1, "a": None}, **given)))

    assert (request["method"], request["body"]) == (method, "eyJhIjpudWxsLCJiIjoxfQ==")
    assert request["target"] == "/v1/days/Z%C3%BCrich?x=1&q=a+b%26c&all=true&n=1&n=2"
    sent = {name: request["headers"].get(name) for name in ("content-type", "x-team", "x-one")}
    assert sent == {"content-type": "application/json", "x-team": "seven", "x-one": "1"}


async def _sent(response: Any) -> dict[str, Any]:
    return dict((await response).json())


def test_a_body_that_is_no_json_is_sent_as_it_is(service: ServiceHarness) -> None:
    request = seen(ask(signet.Upstream(service.url), "POST", body="a=1", headers={"Content-Type": "text/x"}))

    assert (request["body"], request["headers"]["content-type"]) == ("YT0x", "text/x")


@pytest.mark.parametrize("path", ["/a/../b", "..", "/%2e%2E/x", "/a/./b", "https://other.example/x"])
def test_a_path_that_leads_out_of_the_address_is_refused(service: ServiceHarness, path: str) -> None:
    """What a model writes may be a part of it."""
    assert ask(signet.Upstream(service.url), path=path).code == "INVALID_INPUT"
    assert service.requests() == ()


def test_what_a_target_cannot_have_is_encoded(service: ServiceHarness) -> None:
    asyncio.run(_sent(signet.Upstream(service.url).get("//other.example/a#b\r\nHost: c?q=x y")))

    assert service.targets() == ["//other.example/a%23b%0D%0AHost:%20c?q=x%20y"]


def test_a_rate_holds_the_next_request_back(service: ServiceHarness) -> None:
    """One in a hundred seconds: who waits is told so, and nothing goes out."""
    api = signet.Upstream(service.url, rate=0.01)
    wait = Waiting()
    switchboard = Switchboard(open_service, {})

    async def run() -> str:
        from signet.authoring.running import CURRENT

        CURRENT.set(msgspec.structs.replace(NULL_CONTEXT, upstream=switchboard, wait=wait))
        await api.get("/first")
        second = asyncio.ensure_future(api.get("/second"))
        while not second.done() and "turn" not in wait.text():  # noqa: ASYNC110 - the text is what is waited for
            await asyncio.sleep(0)
        told = wait.text()
        second.cancel()
        await asyncio.wait([second])
        await switchboard.close()
        return told

    assert asyncio.run(run()) == "waiting for a turn: one request every 100 s to 127.0.0.1, 0 ahead"
    assert service.targets() == ["/first"]


def test_what_is_cached_is_not_asked_again(service: ServiceHarness) -> None:
    api = signet.Upstream(service.url, cache_s=3600, token="a-token-of-eight", headers={"X-Team": "seven"})

    async def forecast(path: str) -> int:
        """Say what comes."""
        return (await api.get(path)).status

    async def create() -> int:
        """Make something."""
        return (await api.post("/a")).status

    service.order("status", status=404, match="/missing")
    with declared(forecast, create) as toolset:
        gets = [("forecast", {"path": path}) for path in ("/a", "/a", "/b", "/a", "/missing", "/missing")]
        call_all(toolset, *gets, ("create", {}), ("create", {}))

    assert service.targets() == ["/a", "/b", "/missing", "/missing", "/a", "/a"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"token": "first"}, {"token": "second"}),
        ({"headers": {"X-Team": "one"}}, {"headers": {"X-Team": "two"}}),
        ({}, {"token": "second"}),
    ],
)
def test_what_is_cached_for_one_account_is_not_given_to_another(
    service: ServiceHarness, one: dict[str, Any], two: dict[str, Any]
) -> None:
    accounts = [signet.Upstream(service.url, cache_s=3600, **given) for given in (one, two)]

    async def forecast() -> list[str]:
        """Say what comes, to both at once and then again."""
        both = await asyncio.gather(*(account.get("/a") for account in accounts))
        both += [await account.get("/a") for account in accounts]
        return [response.json()["headers"].get("x-team", "") for response in both]

    with declared(forecast) as toolset:
        teams = call(toolset, ("forecast", {})).result["result"]

    assert teams == [given.get("headers", {}).get("X-Team", "") for given in (one, two)] * 2
    sent = [request.headers for request in service.requests()]
    assert len({(headers.get("authorization"), headers.get("x-team")) for headers in sent}) == len(sent) == 2


def test_without_a_cache_every_request_goes_out(service: ServiceHarness) -> None:
    api = signet.Upstream(service.url)

    async def forecast() -> int:
        """Say what comes."""
        return (await api.get("/a")).status

    with declared(forecast) as toolset:
        call_all(toolset, ("forecast", {}), ("forecast", {}))

    assert service.targets() == ["/a", "/a"]


def test_a_service_that_is_busy_is_asked_again(service: ServiceHarness) -> None:
    service.order("status", status=503, headers=AT_ONCE, times=2)

    result = ask(signet.Upstream(service.url))

    assert result["status"] == 200
    assert [request.status for request in service.settled()] == [503, 503, 200]


def test_a_connection_that_breaks_is_made_again(service: ServiceHarness) -> None:
    service.order("reset", times=1)

    assert ask(signet.Upstream(service.url))["status"] == 200
    assert len(service.requests()) == 2


def test_what_may_change_something_is_sent_once(service: ServiceHarness) -> None:
    service.order("status", status=503, headers=AT_ONCE, times=1)

    assert ask(signet.Upstream(service.url), "POST")["status"] == 503
    assert len(service.requests()) == 1


@pytest.mark.parametrize(
    ("fault", "given", "name", "text"),
    [
        ("huge", {"max_body_bytes": 100}, "UPSTREAM_TOO_LARGE", "the answer of 127.0.0.1 has more than 100 bytes"),
        ("cut", {"retries": 0}, "UPSTREAM_BROKEN", "the answer of 127.0.0.1 cannot be used: "),
        ("hang", {"timeout_s": 0.2, "retries": 0}, "UPSTREAM_FAILED", "request failed: no answer within 0.2 s from "),
        ("garbage", {"retries": 0}, "UPSTREAM_FAILED", "that is not HTTP: check the address that its signet.Upstream"),
        ("close", {"retries": 0}, "UPSTREAM_FAILED", "ended the connection without an answer"),
        ("redirect_loop", {"retries": 0}, "UPSTREAM_FAILED", "request failed: more than 10 redirects"),
        (
            "html",
            {"retries": 0},
            "UNREADABLE",
            "127.0.0.1 answered with status 502, text/html; charset=utf-8: it is not",
        ),
    ],
)
def test_a_service_that_misbehaves_is_a_fault_that_the_model_reads(
    service: ServiceHarness, fault: str, given: dict[str, Any], name: str, text: str
) -> None:
    service.order(fault)

    found = ask(signet.Upstream(service.url, **given))

    assert (found.code, found.name, found.as_tool_result) == ("INTERNAL_ERROR", name, True)
    assert text in found.message


def test_a_plain_function_is_told_to_be_async(service: ServiceHarness) -> None:
    api = signet.Upstream(service.url)

    def forecast() -> int:
        """Say what comes."""
        return api.get("/x").status  # type: ignore[attr-defined]

    with declared(forecast) as toolset:
        fault = call(toolset, ("forecast", {})).fault

    assert fault.message == (
        "a plain function cannot wait for 127.0.0.1: declare the tool with async def, and await upstream.get(…)"
    )
    assert service.requests() == ()


def test_address_and_token_may_come_from_the_settings(service: ServiceHarness) -> None:
    class Own(msgspec.Struct):
        where: str
        key: str = "none-at-all"

    api = signet.Upstream(lambda own: own.where, name="api", token=lambda own: own.key)

    async def forecast() -> int:
        """Say what comes."""
        return (await api.get("/x")).status

    with declared(forecast, settings=Own) as toolset:
        environ = {"WEATHER_WHERE": service.url, "WEATHER_KEY": "key-of-the-user"}
        assert call(toolset, ("forecast", {}), environ=environ).result == {"result": 200}

    assert service.bearers() == [hashed_bearer("key-of-the-user")]
    with pytest.raises(signet.Fault, match="api needs the settings of its toolset, which only a call has"):
        asyncio.run(_sent(api.get("/x")))


def test_a_redirect_to_another_server_takes_nothing_with_it(service: ServiceHarness) -> None:
    with echoing() as other:
        service.order("redirect_to", location=f"{other.url}/y", match="/x")
        headers = {"X-Api-Key": "key-of-the-user"}

        result = ask(signet.Upstream(service.url, token="token-of-the-user", headers=headers))

        assert service.bearers() == [hashed_bearer("token-of-the-user")]
        assert seen(result)["headers"].keys() & {"authorization", "x-api-key"} == set()


def test_two_services_of_one_name_are_refused(service: ServiceHarness) -> None:
    apis = [signet.Upstream(service.url), signet.Upstream(f"{service.url}/v2")]

    async def forecast(which: int) -> int:
        """Say what comes."""
        return (await apis[which].get("/x")).status

    with declared(forecast) as toolset:
        fault = call(toolset, ("forecast", {"which": 0}), ("forecast", {"which": 1})).fault

    assert fault.message == "there are two upstreams of the name 127.0.0.1: give one of them another name="
    assert service.targets() == ["/x"]


@pytest.mark.parametrize(
    ("url", "given", "text"),
    [
        ("api.example", {}, "does not start with http:// or https://"),
        ("https://me:secret-word@api.example", {}, "has a user name"),
        (str, {}, "needs a name="),
        ("https://api.example", {"name": "a b"}, "cannot name an upstream"),
        ("https://api.example", {"rate": -1}, "rate=-1 cannot be used: write a number from 0"),
        ("https://api.example", {"timeout_s": 0}, "timeout_s=0 cannot be used: write a number above 0"),
        ("https://api.example", {"token": "secret-word\n2"}, "characters that no HTTP header can carry"),
        ("https://api.example", {"headers": {"X-Key": "secret-word\n"}}, "the header X-Key has characters"),
        ("https://api.example", {"headers": {"X Key": "1"}}, "'X Key' cannot name a header"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_written(url: Any, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        signet.Upstream(url, **given)

    assert text in str(caught.value)
    assert "secret-word" not in str(caught.value)


def test_nothing_is_loaded_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(
        "import signet\napi = signet.Upstream('https://api.example')\n\n@signet.tool\nasync def now() -> str:\n"
        "    '''Say what is.'''\n    return (await api.get('/')).text()\n",
        encoding="utf-8",
    )
    probe = """
import sys
from signet.app import build_server
from signet.kernel.server import ClientChannel
from signet.settings.model import Settings
asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
server = build_server(Settings(toolsets="weather.py"))
server.warm()
print(server.receive(asked, ClientChannel()).code, *sys.modules)
"""

    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
    code, *loaded = done.stdout.split()

    assert code == "0"
    assert set(loaded) & {"aiohttp", "signet.upstream.http", "email", "http", "json"} == set()
