"""The port to a service outside: requests and responses are values, and each way out keeps the protocol."""

from __future__ import annotations

import inspect

import pytest

from signet.kernel.upstream import Upstream, UpstreamRequest, UpstreamResponse
from signet.upstream.caching import CachingUpstream
from signet.upstream.http import HttpUpstream


def test_equal_requests_are_one_key() -> None:
    """A cache and the sharing of requests in flight rest on this."""
    first, again, other = UpstreamRequest("/a?b=1"), UpstreamRequest("/a?b=1"), UpstreamRequest("/a?b=2")

    assert {first: "kept"}[again] == "kept"
    assert other not in {first: "kept"}


def test_a_response_is_whole_unless_it_says_otherwise() -> None:
    response = UpstreamResponse(200, "application/json", b"{}")

    assert (response.cut, response.broken) == (False, "")


@pytest.mark.parametrize(
    ("request_", "plain"),
    [
        (UpstreamRequest("/a"), True),
        (UpstreamRequest("/a", "POST"), False),
        (UpstreamRequest("/a", headers=(("accept", "text/plain"),)), False),
        (UpstreamRequest("/a", body=b"x"), False),
    ],
    ids=["a GET", "a POST", "with a header", "with a body"],
)
def test_only_a_bare_get_may_be_shared_or_cached(request_: UpstreamRequest, plain: bool) -> None:
    assert request_.is_plain is plain


@pytest.mark.parametrize("value", [UpstreamRequest("/a"), UpstreamResponse(200, "", b"")])
def test_neither_can_be_changed_once_it_is_made(value: UpstreamRequest | UpstreamResponse) -> None:
    with pytest.raises(AttributeError):
        value.target = "/b"  # type: ignore[misc, union-attr]


@pytest.mark.parametrize("way_out", [HttpUpstream, CachingUpstream])
def test_each_way_out_has_the_methods_of_the_protocol_with_the_same_parameters(way_out: type) -> None:
    methods = [name for name, member in vars(Upstream).items() if inspect.isfunction(member) and name[0] != "_"]

    assert "send" in methods
    for name in methods:
        ours, protocol = inspect.signature(getattr(way_out, name)), inspect.signature(getattr(Upstream, name))
        assert len(ours.parameters) == len(protocol.parameters), name
