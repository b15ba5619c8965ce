"""The servers that tests call: one for each target and cassette, started when a door of it is first used.

ServedTarget ─┬─ server      in this process: the door `here`
              ├─ http        the same server on loopback: the doors `mcp`, `rest` and `envelope`
              └─ stdio       a process of its own
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from signet.mcp.server_process import ServerProcess
from signet.settings.catalogue import load_toolsets
from signet.settings.model import Settings
from signet.settings.names import PREFIX, variable_of
from signet.system.loop_thread import LoopThread

from .target import FILE, Projects

if TYPE_CHECKING:
    from signet.kernel.server import Server
    from signet.transports.http_server import HttpServer

    from .cassette import Cassette

__all__ = ["ServedTarget", "ServerPool"]

OWN: Final = (
    "host", "port", "token", "tls_cert", "tls_key", "workers", "allowed_hosts", "quiet", "toolsets", "log_dir",
    "journal", "record", "replay", "stdio_reader", "config", "tokens_file", "oauth_issuer", "public_url",
    "trusted_proxies",
)  # fmt: skip
"""The settings that tests decide themselves; the others are those of the environment and of the project's file."""


class LoopbackServer:
    """The HTTP doors of a server, on a port of this machine that asks for a token."""

    def __init__(self, server: Server, settings: Settings) -> None:
        from msgspec.structs import replace

        from signet.app import build_app
        from signet.transports.http_server import HttpServer
        from signet.transports.listening import bind
        from signet.transports.slots import ConnectionLimits

        self.token = secrets.token_hex(16)
        listener = bind("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = build_app(replace(settings, token=self.token), server)
        self._http: HttpServer = HttpServer(app, listener, ConnectionLimits())
        self._http.open()
        self._serving = asyncio.get_running_loop().create_task(self._http.serve())

    async def close(self) -> None:
        """Answer the calls in flight and close the server."""
        self._http.stop()
        await self._serving


class ServedTarget:
    """The tools of a target, live or with a cassette, behind every door."""

    def __init__(self, thread: LoopThread, folder: str, target: str, cassette: Cassette | None) -> None:
        self.thread = thread
        self.target = target
        self.cassette = cassette
        self._folder = folder
        self._server: Server | None = None
        self._loopback: LoopbackServer | None = None
        self._process: ServerProcess | None = None
        self._journal = tempfile.TemporaryDirectory(prefix="signet-testing-")

    @property
    def server(self) -> Server:
        """The server in this process.

        Raises:
            UsageError: the target cannot be served.
        """
        if self._server is None:
            self._settings = self.thread.call(self._read_settings)
            self._server = self.thread.call(_build, self._settings)
        return self._server

    @property
    def loopback(self) -> LoopbackServer:
        """The same server over HTTP."""
        if self._loopback is None:
            self._loopback = self.thread.call(LoopbackServer, self.server, self._settings)
        return self._loopback

    @property
    def process(self) -> ServerProcess:
        """A process that serves on its standard input and output."""
        if self._process is None:
            # What is wrong with the target is found here, where it can be told.
            _ = self.server
            command = (sys.executable, "-m", "signet", "stdio")
            flags = {f"{PREFIX}{name.upper()}": value for name, value in self._flags().items()}
            environ = {**_kept_variables(), **self.variables, **flags}
            self._process = ServerProcess(command, environ, cwd=self._folder)
        return self._process

    def drop_process(self) -> None:
        """End the process, which has failed; the next call starts another."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def toolset_names(self) -> list[str]:
        """Return the names of the target's toolsets."""
        return self.thread.call(load_toolsets, self.target)

    @cached_property
    def variables(self) -> dict[str, str]:
        """The settings of the environment and of the project's file, as variables for any process."""
        return self.thread.call(read_variables, self._folder, self.target)

    def require_recording(self) -> None:
        """Raise UsageError if there is a cassette that neither holds a recording nor may get one."""
        __tracebackhide__ = True
        if self.cassette is not None:
            self.cassette.require()

    def close(self) -> None:
        """Stop everything, which also completes a recording; what is used again is started again."""
        self.drop_process()
        loopback, server = self._loopback, self._server
        self._loopback = self._server = None
        if loopback is not None:
            self.thread.run(loopback.close())
        elif server is not None:
            self.thread.run(server.close())

    def dispose(self) -> None:
        """Stop everything for good."""
        self.close()
        self._journal.cleanup()

    def _flags(self) -> dict[str, str]:
        if self.cassette is None or self.cassette.is_missing:
            return {"toolsets": self.target, "journal": "no"}
        way = "record" if self.cassette.is_recording else "replay"
        # A recording has its calls from the journal, which is not a part of it.
        return {"toolsets": self.target, way: self.cassette.place, "log_dir": self._journal.name}

    def _read_settings(self) -> Settings:
        from signet.app import resolve

        return resolve(Settings.read(read_variables(self._folder, self.target), self._flags()))


def read_variables(folder: str, target: str) -> dict[str, str]:
    """Return the settings that hold for the tools of a target but for those that tests decide, as variables.

    Raises:
        UsageError: the target cannot be loaded, or a setting cannot be used.
    """
    from signet.settings.reading import read_configuration

    file = os.path.join(folder, FILE)
    flags = {"toolsets": target, "config": file if os.path.exists(file) else os.devnull}
    given = read_configuration(_kept_variables(), flags).given
    values = {variable_of(name): _as_text(one.value) for name, one in given.items() if name not in OWN}
    return {**values, f"{PREFIX}CONFIG": os.devnull}


def _kept_variables() -> dict[str, str]:
    ours = {f"{PREFIX}{name.upper()}" for name in OWN}
    return {name: value for name, value in os.environ.items() if name not in ours}


def _as_text(value: Any) -> str:
    """Return a value of the file as a variable has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def _build(settings: Settings) -> Server:
    from signet.app import build_server

    return build_server(settings)


class ServerPool:
    """What the tests of one run share."""

    def __init__(self, projects: Projects) -> None:
        self.projects = projects
        self._thread: LoopThread | None = None
        self._served: dict[tuple[str, str, Any], ServedTarget] = {}

    def serve(self, start: str, target: str, cassette: Cassette | None) -> ServedTarget:
        """Return the tools of a target with the settings of a project, those with a cassette for its test alone.

        Args:
            start: the folder of the test, which is in the project.
            target: the tools.
            cassette: that of the test.

        Raises:
            UsageError: the file of a project cannot be read.
        """
        folder = self.projects.folder_of(start)
        if self._thread is None:
            self._thread = LoopThread()
        key = (folder, target, cassette)
        if key not in self._served:
            self._served[key] = ServedTarget(self._thread, folder, target, cassette)
        return self._served[key]

    def end(self, cassette: Cassette) -> None:
        """Stop what was started for a cassette."""
        for key in [key for key in self._served if key[2] is cassette]:
            self._served.pop(key).dispose()

    def close(self) -> None:
        """Stop everything."""
        while self._served:
            self._served.popitem()[1].dispose()
        if self._thread is not None:
            self._thread.close()
            self._thread = None
