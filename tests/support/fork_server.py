"""Processes that begin as copies of one that has loaded Signet already, at a fifth of the cost of a start from nothing.

    Popen ── words, environment, three streams ──▶ fork server ── fork, fork ──▶ the command

Each is a process like any other: a child of the tests, with an environment, a folder, streams and signals of its own.
Only the modules are there before its first line runs. `FRESH_PROCESSES=1` starts every process from nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = ["FRESH", "install"]

FRESH: Final = "FRESH_PROCESSES"
"""The variable, of the run or of one process, with which processes start from nothing."""

PROGRAMS: Final = ("signet", "signet-mcp", "oj-mcp-rs", "boj-mcp-server")
SCRIPTS: Final = ("extended_server.py", "limited_server.py", "mutant_server.py", "misbehaving_server.py")
NAMED: Final = ("signet", "signet.commands.parity.cli_worker")
MODULES: Final = (
    "aiohttp", "asyncio", "jsonschema_rs", "multiprocessing.spawn", "rich.console", "rich.table", "rich.text", "ssl",
    "signet.commands.cli", "signet.commands.serve", "signet.commands.call", "signet.commands.tool_page",
    "signet.app", "signet.settings.reading", "signet.journal.writer", "signet.sandbox.hosting",
    "signet.team.access", "signet.team.limiting", "signet.team.shared", "signet.team.telemetry",
    "signet.transports.http_server", "signet.transports.stdio", "signet.upstream.http", "signet.upstream.caching",
    "signet.toolsets.boj.tools", "signet.toolsets.boj.sandbox.api", "signet.toolsets.boj_explore.tools",
    "signet.toolsets.oj.tools", "signet.toolsets.oj.sandbox.api", "signet.toolsets.oj_practice.tools",
    "signet.toolsets.plantuml.tools", "signet.toolsets.plantuml_tools.tools",
)  # fmt: skip
"""What most commands load."""
SITES: Final = ("first_and_last_door", "frequent_token_checks", "long_turn_waits")
"""The folders of `sitecustomize` modules that a copy can run as well."""
READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "COVERAGE_", "SSL_")
"""How the variables begin that an interpreter reads before the first line of a program, or a package once."""
OWN: Final = {"SSL_CERT_FILE": os.devnull}
"""What of them the server has that this process has not: the authorities of `processes.clean_env`."""
MAX_REQUEST_BYTES: Final = 1 << 20
PR_SET_CHILD_SUBREAPER: Final = 36


def can_fork(command: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Tell whether a copy of the server does what a new interpreter does for a command in an environment."""
    if sys.platform != "linux" or {FRESH, "COVERAGE_PROCESS_START"} & {*os.environ, *environ}:
        return False
    words = command[1:] if command[0] == sys.executable else command
    named = words[1] if words[:1] == ["-m"] and len(words) > 1 and words is not command else ""
    known = named in NAMED or bool(words and words[0] in _known(PROGRAMS, SCRIPTS))
    return known and _read_at_start(environ) == _read_at_start({**os.environ, **OWN})


@cache
def _known(programs: tuple[str, ...], ours: tuple[str, ...]) -> set[str]:
    """Return the paths of programs that are installed beside the interpreter, and of files and folders beside this."""
    bin_folder, tests = Path(sys.executable).parent, Path(__file__).parent
    return {*(str(bin_folder / name) for name in programs), *(str(tests / name) for name in ours)}


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a copy cannot heed."""
    found = {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    if found.get("PYTHONPATH", "") in {"", *_known((), SITES), os.environ.get("PYTHONPATH")}:
        found.pop("PYTHONPATH", None)
    return found


def install() -> None:
    """Let every `Popen` of this process, of `subprocess` and `asyncio`, start commands as copies where it can be."""
    before = subprocess.Popen._execute_child  # type: ignore[attr-defined] # the method that starts a process

    def execute_child(process: Any, args: Any, *told: Any) -> None:
        executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *pipes = told[:15]
        ids = told[16:20]
        plain = not (executable or preexec_fn or pass_fds or shell or any(one not in {None, -1} for one in ids))
        words = [os.fspath(word) for word in args] if isinstance(args, list | tuple) else []
        environ = os.environ if env is None else env
        if not (plain and words and can_fork(words, environ)):
            before(process, args, *told)
            return
        streams = [own if pipe == -1 else pipe for own, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        request = {"words": words, "folder": os.fspath(cwd or Path.cwd()), "env": dict(environ)}
        process.pid = _server().start({**request, "new_session": bool(told[-2]), "files": _files()}, streams)
        process._child_created = True
        process._close_pipe_fds(*pipes)

    subprocess.Popen._execute_child = execute_child  # type: ignore[attr-defined]


def _files() -> tuple[int, int]:
    """Return the limits of open files, which a new process inherits."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


class _Server:
    """The fork server as this process sees it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MAX_REQUEST_BYTES)
        with there:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(there.fileno(),),
                cwd="/",
                env={**os.environ, **OWN},
            )
        self._adopt = ctypes.CDLL(None).prctl

    def start(self, request: Mapping[str, Any], streams: Sequence[int]) -> int:
        """Start a process and return its id; we are its parent, since its own ends at once and we adopt the orphan."""
        with self._lock:
            self._adopt(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._here, [json.dumps(request).encode()], list(streams))
                answer = self._here.recv(64)
            finally:
                self._adopt(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert answer, "the fork server has ended"
        return int(answer)

    def close(self) -> None:
        self._here.close()
        self._process.wait()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server


# --- in the fork server


def serve(connection: socket.socket) -> None:
    """Start a copy of this process for each request; return in the copies alone."""
    while True:
        data, fds, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 3)
        if not data:
            os._exit(0)
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0 and (pid := os.fork()) == 0:
            for end in (reading, writing):
                os.close(end)
            connection.close()
            return become(json.loads(data), fds)
        if middle == 0:
            os.write(writing, b"%d" % pid)
            os._exit(0)
        os.waitpid(middle, 0)
        connection.send(os.read(reading, 64))
        for end in (reading, writing, *fds):
            os.close(end)


def become(request: dict[str, Any], fds: list[int]) -> None:
    """Have the streams, the environment, the folder and the words of a new process, and run its script."""
    for stream, fd in enumerate(fds):
        os.dup2(fd, stream)
    for fd in fds:
        os.close(fd)
    if request["new_session"]:
        os.setsid()
    # A test may have raised the limit of its own process after the server had started.
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(request["files"]))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    open_streams()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.orig_argv = request["words"]
    words = sys.orig_argv[sys.orig_argv[0] == sys.executable :]
    by_name = words[0] == "-m"
    sys.argv = words[by_name:]
    sys.path[0] = request["folder"] if by_name else os.path.dirname(words[0])
    if (site := os.environ.get("PYTHONPATH", "")) in _known((), SITES):
        sys.path.insert(1, site)
        # The interpreter may have loaded one of its own, as Debian's does.
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")
    try:
        if by_name:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        end(ended)


def end(ended: SystemExit) -> None:
    """End as an interpreter does, without taking all its modules apart, which would take as long as the rest."""
    threading._shutdown()  # type: ignore[attr-defined] # it waits for threads, as the interpreter does
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if ended.code is None or isinstance(ended.code, int):
            os._exit(int(ended.code or 0) & 0xFF)
    raise ended


def open_streams() -> None:
    """Make the three streams of `sys` as an interpreter makes them at its start."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        # Nobody closes the streams of a process.
        stream = open(fd, before.mode, encoding=before.encoding, errors=before.errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=fd == 2 or stream.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    for name in MODULES:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
