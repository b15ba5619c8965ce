"""The command `signet wrap [flags] -- CMD …`: serve somebody else's server under contract."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from signet.commands.arguments import CALL_FLAGS, SERVE_FLAGS, Parser, add_settings, flags_of
from signet.commands.wrapped import variables_of
from signet.lock.file import DEFAULT_PATH as LOCK_FILE
from signet.settings.server_name import default_name, plain_name
from signet.settings.server_spec import ServerSpec, Wrapping
from signet.settings.usage import UsageError
from signet.system.advice import advise

if TYPE_CHECKING:
    from signet.settings.model import Settings

__all__ = ["FLAGS", "add", "name_of_server"]

EMPTY: Final = ServerSpec(name="")
MODES: Final = ("enforce", "shadow", "relax", "off")
DEFAULTS: Final = {"log": "warn,server=info", "call_timeout_s": 600.0}
"""The defaults of this command: what servers write to standard error is shown, and calls have time."""
NO_NARROWING: Final = "the tools of an MCP server are always served together"
EPILOG: Final = """\
The words behind -- start the server, as a client's configuration would. Its tools are listed as it lists them; each
call is checked against its contracts, written to the journal, and answered the same through every door.

examples:
  signet wrap -- npx -y @modelcontextprotocol/server-memory
  signet wrap --serve --port 8080 -- uvx mcp-server-time
  signet wrap --url https://example.com/mcp --header-file headers.txt
  signet wrap --config .mcp.json --serve
  signet wrap --record recording -- node server.js
  signet wrap --replay recording
"""

VALIDATION: Final = """what to do with a value that breaks its contract: enforce (refuse it), shadow (record it), relax
    (deliver it as text, without the schema) or off; TOOL=MODE for one tool; may be repeated (default: enforce)"""
REPEATED: Final[dict[str, Any]] = {"action": "append", "default": []}
FLAGS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("--url", "serve a remote server, over HTTP", {"metavar": "URL"}),
    ("--header-file", "headers for the remote server, a line each: 'Name: value'", {"metavar": "FILE"}),
    (
        "--config",
        "serve all servers of a client's own file (mcp.json); names begin with the server's name",
        {"metavar": "FILE", "dest": "client_file"},
    ),
    ("--openapi", "serve the operations of an OpenAPI document as tools", {"metavar": "FILE|URL"}),
    (
        "--include",
        "operations to take: tag:NAME, path:/PREFIX*, operation:ID; may be repeated",
        {"metavar": "WHAT", **REPEATED},
    ),
    ("--base-url", "address of the document's service (default: what the document says)", {"metavar": "URL"}),
    (
        "--name",
        "name of the server in the lock, the log and the journal (default: by its command)",
        {"metavar": "NAME"},
    ),
    (
        "--era",
        "protocol era to speak with the server: auto, handshake or modern (default: auto, that of the first caller)",
        {"choices": ("auto", "handshake", "modern"), "default": "auto", "metavar": "ERA"},
    ),
    (
        "--pool",
        "what has a process of its own: shared, session or call (default: shared, one process for all)",
        {"choices": ("shared", "session", "call"), "default": "shared", "metavar": "POOL"},
    ),
    (
        "--env",
        "variable that the server gets beside PATH, HOME and the like; KEY=VALUE sets it; may be repeated",
        {"metavar": "KEY", **REPEATED},
    ),
    ("--cwd", "working folder of the server", {"metavar": "DIR"}),
    (
        "--validation",
        VALIDATION,
        {"metavar": "MODE", "dest": "modes", **REPEATED},
    ),
    (
        "--lock-file",
        "lock that pins what the server says; the file must exist (default: signet.lock, if it exists)",
        {"metavar": "FILE"},
    ),
    (
        "--lock",
        """text=note, text=block (changed words block too), require (no start without a lock), several with commas, or
    off (default: text=note)""",
        {"metavar": "POLICY", "default": "text=note"},
    ),
    (
        "--contracts",
        "output schemas for tools that state none, as 'signet contract learn --out' writes them",
        {"metavar": "FOLDER", "default": ""},
    ),
    (
        "--serve",
        "serve over HTTP: MCP, REST and envelope (default: on standard input and output)",
        {"action": "store_true"},
    ),
)


def add(parser: Parser) -> None:
    """Add the arguments of `signet wrap`."""
    parser.behind_dashes = "command"
    parser.usage = "signet wrap [options] -- COMMAND [ARGUMENT ...]"
    parser.epilog = EPILOG
    for flag, text, facts in FLAGS:
        parser.add_argument(flag, help=text, **facts)
    served = ("port", "host", "token", "allowed_hosts", "tls_cert", "tls_key", "connections_per_address", "quiet")
    add_settings(parser, *served, *SERVE_FLAGS, *CALL_FLAGS)
    text = "folder of the journal (default: runs, or the --record folder)"
    add_settings(
        parser, "record", "replay", "log_dir", "journal", "call_timeout_s", "log", defaults=DEFAULTS, log_dir=text
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Serve on stdio, or over HTTP."""
    from signet.app import build_server

    if args.serve:
        from signet.commands.serve import serve_http

        return serve_http(lambda: _settings(args))
    from signet.commands.same_tools import SameTools
    from signet.commands.stdio_process import is_person, run_stdio, tell_a_person

    if is_person():
        tell_a_person(SameTools([], ["--", *args.command]) if args.command else None)
    return run_stdio(lambda: _settings(args), build_server)


def _settings(args: argparse.Namespace) -> Settings:
    """Return the settings of the command; raise UsageError if they name no server, or more than one."""
    from signet.app import JOURNALS, resolve
    from signet.openapi.servers_of_file import open_documents
    from signet.settings.reading import read_settings
    from signet.settings.servers import with_servers

    servers, prefixed = _servers(args)
    open_documents(servers, os.environ)
    flags = flags_of(args)
    named = [one.name for one in servers if not one.openapi]
    settings = read_settings(os.environ, flags, defaults={"log_dir": JOURNALS, **DEFAULTS}, servers=named)
    wrapping = Wrapping(
        servers=servers,
        prefixed=prefixed,
        lock_file=args.lock_file or LOCK_FILE,
        lock_is_named=args.lock_file is not None,
        lock=args.lock,
        is_private=not args.serve,
    )
    if args.serve and settings.console:
        from signet.commands.launching import wrap_words

        settings = replace(settings, launch=wrap_words(args, FLAGS, for_display=True))
    served = with_servers(replace(settings, toolsets=""), wrapping)
    return resolve(served) if served.replay and served.toolsets else served


def _replayed(args: argparse.Namespace) -> str:
    """Return the folder of the recording that is replayed, or an empty text."""
    return args.replay or os.environ.get("SIGNET_REPLAY", "")


def _check_source(args: argparse.Namespace) -> None:
    """Raise UsageError unless the flags name one server, and fit it."""
    sources = {
        "-- COMMAND": bool(args.command),
        "--url": args.url is not None,
        "--config": args.client_file is not None,
        "--openapi": args.openapi is not None,
    }
    given = [name for name, is_given in sources.items() if is_given]
    if len(given) != 1 and (given or not _replayed(args)):
        which = f"{' and '.join(given)} name several" if given else "no server is named"
        raise UsageError(
            f"{which}: write one of {', '.join(sources)}, --replay; '{advise('wrap.help')}' shows examples"
        )
    if args.header_file is not None and args.url is None:
        raise UsageError("--header-file is for a remote server: write --url beside it")
    for flag, is_given in (("--include", args.include), ("--base-url", args.base_url)):
        if is_given and args.openapi is None:
            raise UsageError(f"{flag} is for an OpenAPI document: write --openapi beside it; {NO_NARROWING}")


def _servers(args: argparse.Namespace) -> tuple[tuple[ServerSpec, ...], bool]:
    """Return the servers that the command line names, and whether names of tools begin with those of their servers."""
    _check_source(args)
    common = ServerSpec(
        name=plain_name(args.name) if args.name else "",
        era=args.era,
        pool=args.pool,
        validation=_modes(args.modes, is_document=args.openapi is not None),
        env=variables_of(args.env),
        contracts=args.contracts,
        cwd=args.cwd,
    )
    if args.client_file is not None:
        return _of_client_file(args.client_file, common), True
    if not (args.command or args.url or args.openapi):
        return _of_recording(args, common)
    from signet.settings.servers import read_header_file

    spec = replace(
        common,
        name=name_of_server(args),
        command=tuple(args.command),
        url=args.url or "",
        headers=read_header_file(args.header_file) if args.header_file else (),
        header_file=args.header_file or "",
        openapi=args.openapi or "",
        include=tuple(args.include),
        base_url=args.base_url or "",
    )
    return (spec,), False


def _of_recording(args: argparse.Namespace, common: ServerSpec) -> tuple[tuple[ServerSpec, ...], bool]:
    """Return the servers of the recording that is replayed, each served as it was recorded unless flags say otherwise.

    Raises:
        UsageError: there is no recording, or it has no servers.
    """
    wrapping = _recorded_wrapping(_replayed(args))
    chosen = {name: getattr(common, name) for name in ("name", "contracts") if getattr(common, name)}
    chosen |= {name: getattr(common, name) for name in ("era", "pool") if getattr(common, name) != getattr(EMPTY, name)}
    chosen |= {"validation": common.validation} if args.modes else {}
    if len(wrapping.servers) > 1:
        chosen.pop("name", None)
    return tuple(replace(one, **chosen) for one in wrapping.servers), wrapping.prefixed


def _recorded_wrapping(folder: str) -> Wrapping:
    from signet.recording import wrapping_of_replay
    from signet.recording.folder import read_recording

    wrapping = wrapping_of_replay(read_recording(folder))
    if wrapping is None:
        play = advise("recording.play", folder=folder)
        raise UsageError(f"{folder} is a recording without wrapped servers; play it with: {play}")
    return wrapping


def name_of_server(args: argparse.Namespace) -> str:
    """Return the name of the server of a command line; an empty text if it names several."""
    if args.name:
        return plain_name(args.name)
    if args.openapi:
        from signet.openapi.toolset import name_of

        # Its settings have the same names, however it is served.
        return name_of(args.openapi)
    if args.command or args.url or not _replayed(args):
        return default_name(args.command, args.url or "")
    servers = _recorded_wrapping(_replayed(args)).servers
    return plain_name(servers[0].name) if len(servers) == 1 else ""


def _of_client_file(path: str, common: ServerSpec) -> tuple[ServerSpec, ...]:
    from signet.commands.wrap.client_file import read_client_file

    shared = {"era": common.era, "pool": common.pool, "validation": common.validation}
    return tuple(replace(one, **shared, env=(*one.env, *common.env)) for one in read_client_file(path))


def _modes(given: list[str], *, is_document: bool) -> tuple[tuple[str, str], ...]:
    """Return the validation mode of each tool; the empty name stands for all others."""
    modes = {} if is_document else {"": "enforce"}
    for text in given:
        tool, _, mode = text.rpartition("=")
        if mode not in MODES:
            raise UsageError(f"--validation {text}: write one of {', '.join(MODES)}, or TOOL= and one of them")
        modes[tool] = mode
    return tuple(modes.items())
