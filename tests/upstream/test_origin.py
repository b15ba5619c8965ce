"""Origins: what is one, and how it is written."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signet.upstream.origin import parse_origin

ACCEPTED = {
    "https://example.com": "https://example.com",
    "https://example.com/": "https://example.com",
    "https://host:8080/": "https://host:8080",
    "HTTPS://EXAMPLE.COM:443/": "https://example.com",
    "http://example.com:80": "http://example.com",
    "http://example.com:443": "http://example.com:443",
    " https://example.com ": "https://example.com",
    "https://[::1]:8080": "https://[::1]:8080",
    "http://h:": "http://h",
    "http://例え.jp": "http://xn--r8jz45g.jp",
    "http://127.0.0.1:3000": "http://127.0.0.1:3000",
    "http://Example.com.": "http://example.com.",
    "http://judge.ns.svc.cluster.local.:80": "http://judge.ns.svc.cluster.local.",
    "http://1.2.3.4.example": "http://1.2.3.4.example",
}
REFUSED = [
    "https://example.com/api/v1", "https://example.com?foo=1", "ftp://example.com", "not a url", "",
    "https://example.com//", "https://example.com?", "https://example.com#", "https://example.com/#x", "http://",
    "https://exa mple.com", "http://h:99999", "example.com", "//example.com", "localhost:8080", "https://u:p@h",
    "https://u@h", "https:example.com", "https:/example.com", "https://example.com/a/..", "http://[::1",
    "http://[nonsense]", "http://a..b", "http://a%20b", "http://h:-1", "http://h:1e3", "http://h\\x", "http://\x00",
    "file:///etc/passwd", "javascript:alert(1)", "http://[::1]8080", "http://256.256.256.256", "http://1.2.3.4.5",
    "http://1.2.3", "http://[fe80::1%25eth0]", "http://[fe80::1%eth0]:80/", "http://.", "http://example.com..",
]  # fmt: skip


@pytest.mark.spec("1.base-url.accept", "1.base-url.normalised")
@pytest.mark.parametrize("text", ACCEPTED)
def test_an_origin_is_written_in_one_way(text: str) -> None:
    assert parse_origin(text) == ACCEPTED[text]


@pytest.mark.spec(
    "1.base-url.reject", "1.S1.1.no-url", "1.S1.1.path", "1.S1.1.query", "1.S1.1.fragment", "1.S1.1.scheme"
)
@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_origin_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="give an origin such as"):
        parse_origin(text)


REASONS = {
    "not a url": "has white space in it",
    "https://example.com/api/v1": "has a path",
    "https://example.com?foo=1": "has a query",
    "https://example.com#top": "has a fragment",
    "ftp://example.com": "does not start with http:// or https://",
}


@pytest.mark.spec("1.S1.1.no-url", "1.S1.1.path", "1.S1.1.query", "1.S1.1.fragment", "1.S1.1.scheme")
@pytest.mark.parametrize("text", REASONS)
def test_the_sentence_names_what_no_origin_has(text: str) -> None:
    with pytest.raises(ValueError, match="the base URL") as caught:
        parse_origin(text)

    assert str(caught.value).startswith(f"the base URL '{text}' {REASONS[text]}")


urls = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["http", "https", "HTTPS", "ftp", ""]),
    st.sampled_from(["://", "://", "://", ":/", ""]),
    st.text("ab1.-é_", max_size=6),
    st.sampled_from(["", "", ":", ":0", ":80", ":443", ":8080", ":99999", ":x"]),
    st.sampled_from(["", "", "/", "//", "/a", "?", "#", "?a=1", "/#"]),
)
"""Texts of which every third or so is an origin."""


@pytest.mark.spec("1.base-url.any", "1.base-url.no-slash")
@example("https://host:8080/")
@given(urls | st.text(max_size=30))
def test_any_text_is_an_origin_without_a_slash_at_its_end_or_is_refused(text: str) -> None:
    try:
        origin = parse_origin(text)
    except ValueError:
        return

    assert origin.startswith(("http://", "https://"))
    assert not origin.endswith("/")
    assert parse_origin(origin) == origin
    assert parse_origin(f"{origin}/") == origin
