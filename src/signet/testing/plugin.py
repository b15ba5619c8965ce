"""The pytest plugin: its options, its marker and its fixtures; what is heavy is imported when a test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from .current import set_current

if TYPE_CHECKING:
    from pathlib import Path

    from .cassette import Cassette
    from .client import Client
    from .parity import Parity
    from .servers import ServedTarget, ServerPool

__all__ = ["signet_cassette", "signet_client", "signet_parity", "signet_target"]

POOL: Final = pytest.StashKey["ServerPool"]()
"""What the tests of one run share: the tools that are served, and the event loop on which they run."""
HAS_FAILED: Final = pytest.StashKey[bool]()
"""Whether a test has failed so far: what it recorded is not kept."""
MODES: Final = ("once", "none", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which have a file's setting of the same name."""
    group = parser.getgroup("signet", "tools served by Signet")
    text = (
        "cassettes: 'once' records those that are missing, 'none' never records, 'all' records anew "
        "(default: once; none where CI is set)"
    )
    group.addoption("--signet-record", choices=MODES, help=text)
    group.addoption("--signet-door", metavar="DOOR", help="the door of signet_client: here, stdio, mcp, rest, envelope")
    parser.addini("signet_door", "the door of signet_client (default: here)", default="here")
    parser.addini(
        "signet_target", "the tools to test (default: those of signet.toml, or of pyproject.toml)", type="args"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line("markers", "signet(door=…): the door through which signet_client calls in this test")
    _serve_project(config, config.invocation_params.dir)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test find the tools of its own project."""
    _serve_project(item.config, item.path.parent)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop everything that the tests have started."""
    set_current(None)
    pool = config.stash.get(POOL, None)
    if pool is not None:
        pool.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note that a test has failed."""
    if call.excinfo is not None:
        item.stash[HAS_FAILED] = True


@pytest.fixture(scope="module")
def signet_target(request: pytest.FixtureRequest) -> str:
    """Return the tools to test: a target, or several with commas. Override it to test others."""
    with _told():
        return _pool(request.config).projects.target_of(str(request.path.parent))


@pytest.fixture
def signet_client(request: pytest.FixtureRequest, signet_target: str) -> Client:
    """Return a client: `signet_client.call("add", a=1, b=2)`; `signet_client("rest")` is one for another door."""
    from .client import Client

    marker = request.node.get_closest_marker("signet")
    door = marker.kwargs.get("door") if marker is not None else None
    config = request.config
    served = _serve(request, signet_target)
    with _told():
        return Client(served, door or config.getoption("signet_door") or config.getini("signet_door"))


@pytest.fixture
def signet_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette]:
    """Return the recording of what the tools ask of their upstreams: made if it is missing, replayed from then on."""
    from .cassette import Cassette, place_of_cassette

    mode = request.config.getoption("signet_record") or ("none" if os.environ.get("CI") else "once")
    names = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class | pytest.Function)]
    cassette = Cassette(place_of_cassette(str(request.path), ".".join(names)), mode)
    yield cassette
    _pool(request.config).end(cassette)
    _serve_project(request.config, request.path.parent)
    cassette.end(keep=not request.node.stash.get(HAS_FAILED, False))


@pytest.fixture
def signet_parity(request: pytest.FixtureRequest, signet_target: str) -> Parity:
    """Return a function that makes calls through every door and fails where they differ: `signet_parity()`."""
    from .parity import Parity

    return Parity(_serve(request, signet_target))


def _serve(request: pytest.FixtureRequest, target: str) -> ServedTarget:
    """Return the tools of a target, with the cassette of a test that asks for one."""
    cassette = request.getfixturevalue("signet_cassette") if "signet_cassette" in request.fixturenames else None
    with _told():
        served = _pool(request.config).serve(str(request.path.parent), target, cassette)
        set_current(lambda: served)
        _ = served.server
    return served


def _pool(config: pytest.Config) -> ServerPool:
    if POOL not in config.stash:
        from .servers import ServerPool
        from .target import Projects

        # pytest's folder, or the working folder where only that has settings of Signet.
        others = (str(config.rootpath), str(config.invocation_params.dir))
        border = str(config.inipath.parent) if config.inipath is not None else ""
        config.stash[POOL] = ServerPool(Projects(others, border, config.getini("signet_target")))
    return config.stash[POOL]


def _serve_project(config: pytest.Config, folder: Path) -> None:
    """Let `assert_contract` find the tools of the project with this folder, until a test asks for others."""

    def serve() -> ServedTarget:
        pool = _pool(config)
        served = pool.serve(str(folder), pool.projects.target_of(str(folder)), None)
        set_current(lambda: served)
        return served

    set_current(serve)


@contextmanager
def _told() -> Iterator[None]:
    """Fail a test that cannot be set up with the sentence that says why, below the traceback of the user's own code."""
    from signet.settings.usage import UsageError

    try:
        yield
    except UsageError as error:
        raise pytest.fail.Exception(f"{error.trace}{error}", pytrace=False) from None
