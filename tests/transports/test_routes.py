"""Which pages anybody may read, and what a path is without what may stand around it."""

from __future__ import annotations

from signet.kernel.wire import Headers
from signet.transports.messages import Request, Response
from signet.transports.routes import below, open_page, page, unknown_path, without_slash


def request(method: str = "GET", path: str = "/", **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method, path, Headers(list(named), list(named.values())))


def test_an_open_page_needs_no_token_and_can_be_read_by_any_page() -> None:
    route = open_page(b"{}")

    answer = route.answer(request())

    assert (route.access.no_token, route.access.any_page) == (True, True)
    assert answer == Response(
        200, b"{}", ((b"content-type", b"application/json"), (b"access-control-allow-origin", b"*")), is_page=True
    )


def test_an_open_page_may_depend_on_the_request() -> None:
    answer = open_page(lambda asked: asked.path.encode()).answer(request(path="/here"))

    assert isinstance(answer, Response)
    assert answer.body == b"/here"


def test_an_open_page_lets_other_pages_send_the_headers_that_they_ask_for() -> None:
    answer = open_page(b"{}").answer(request("OPTIONS", access_control_request_headers="mcp-protocol-version"))

    assert answer == Response(
        204,
        headers=(
            (b"access-control-allow-origin", b"*"),
            (b"access-control-allow-methods", b"GET, OPTIONS"),
            (b"access-control-allow-headers", b"mcp-protocol-version"),
        ),
    )


def test_pages_are_read_with_get_alone() -> None:
    for route in (open_page(b"{}"), page("/", b"{}")):
        answer = route.answer(request("DELETE"))

        assert isinstance(answer, Response)
        assert answer.status == 405
        assert (b"allow", b"GET, HEAD, OPTIONS") in answer.headers


def test_pages_for_monitoring_need_no_token_and_those_for_people_do() -> None:
    assert [page(path, b"").access.no_token for path in ("/healthz", "/readyz", "/")] == [True, True, False]


def test_one_slash_may_end_a_path() -> None:
    assert [without_slash(path) for path in ("/mcp/", "/mcp", "/mcp//")] == ["/mcp", "/mcp", "/mcp//"]


def test_a_prefix_is_taken_off_where_it_is_a_whole_part_of_the_path() -> None:
    paths = ("/team/mcp", "/team", "/teams/mcp", "/mcp", "/team/team/mcp")

    assert [below("/team", path) for path in paths] == ["/mcp", "/", "/teams/mcp", "/mcp", "/team/mcp"]


def test_an_unknown_path_is_not_repeated_in_full() -> None:
    answer = unknown_path("/" + "x" * 1000).answer(request())

    assert isinstance(answer, Response)
    assert answer.status == 404
    assert b"x" * 199 in answer.body
    assert b"x" * 200 not in answer.body
