"""A toolset: one value with working defaults, whose tools are loaded when it is enabled and not before."""

from __future__ import annotations

import msgspec
import pytest

from signet.kernel.toolset import SandboxSpec, Toolset, UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.fields import settings_of

SMALL = Toolset(name="small", title="Small", tools=lambda: ())


def test_a_toolset_of_plain_functions_needs_a_name_a_title_and_its_tools() -> None:
    assert (SMALL.name, SMALL.title, SMALL.tools()) == ("small", "Small", ())
    assert (SMALL.needs, SMALL.upstream, SMALL.sandbox, SMALL.schema_root) == ("", None, None, None)
    assert (SMALL.without_waiting, SMALL.legacy_paths, SMALL.corpus()) == ({}, {}, ())


def test_a_toolset_without_settings_has_an_empty_struct_of_them() -> None:
    assert settings_of(SMALL.settings) == ()
    assert SMALL.settings() == SMALL.settings()


def test_a_toolset_cannot_be_changed_once_it_is_made() -> None:
    with pytest.raises(AttributeError):
        SMALL.name = "large"  # type: ignore[misc]


def test_its_tools_are_not_loaded_by_making_it() -> None:
    loaded: list[str] = []

    toolset = Toolset(name="lazy", title="Lazy", tools=lambda: loaded.append("tools") or ())

    assert loaded == []
    assert (toolset.tools(), loaded) == ((), ["tools"])


def test_an_upstream_is_bounded_in_time_and_size_and_caches_nothing_unless_it_says_otherwise() -> None:
    spec = UpstreamSpec(base_url="https://x.example")

    assert (spec.timeout_s, spec.max_body_bytes, spec.max_redirects) == (30.0, 1_048_576, 10)
    assert (spec.token, spec.allows_path, spec.gzip, spec.interval_s) == (None, False, False, 0.0)
    assert (spec.cache_s, spec.coalesce) == (0.0, False)
    assert spec.may_cache(UpstreamRequest("/a"), UpstreamResponse(200, "", b"")) is False


def test_a_sandbox_wants_no_token_unless_it_says_so() -> None:
    assert SandboxSpec("a service", lambda: None).wants_token is False


@pytest.mark.parametrize("name", TOOLSETS)
def test_the_settings_of_each_toolset_in_the_box_have_defaults(name: str) -> None:
    """A server starts without any variable set; the one that a toolset needs is empty then."""
    toolset = find_toolset(name)

    settings = toolset.settings()

    assert isinstance(settings, msgspec.Struct)
    assert not toolset.needs or not getattr(settings, toolset.needs)
