"""Checks of what the settings name: folders, the address to listen on, certificates, and each upstream, asked once."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from functools import partial
from http.client import HTTPException
from typing import Any, Final

import msgspec

from signet.app import open_toolbox
from signet.kernel.checkup import CONFIGURED, REACHABLE, Check, CheckupResult, note, ok, trouble
from signet.kernel.errors import Fault
from signet.kernel.toolset import UpstreamSpec
from signet.kernel.upstream import UpstreamRequest, UpstreamResponse
from signet.recording import open_turns
from signet.recording.folder import read_recording
from signet.settings.model import EnabledToolset, Settings
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.team.access import check_access, is_protected, refuse_open_door
from signet.transports.listening import UNIX_PREFIX, bind, is_local
from signet.upstream.blocking_http import BoundedConnection
from signet.upstream.http import HttpUpstream

__all__ = ["reach_checks"]

PROBE_S: Final = 5.0
"""The time for one request, from the lookup of the name to the last byte."""
SAID_IN: Final = ("detail", "title", "message", "status")
"""The members in which an answer says why it is none, the best first."""
MAX_SAID_CHARS: Final = 200
OK: Final = 200
UNAUTHORIZED: Final = (401, 403)


def reach_checks(settings: Settings, *, is_port_named: bool) -> Iterator[Check]:
    """Yield the checks of folders, address and upstreams that the settings name."""
    if settings.tls_cert or settings.tls_key:
        yield Check(CONFIGURED, "certificate", partial(_certificate, settings))
    yield Check(CONFIGURED, "open door", partial(_open_door, settings))
    yield Check(REACHABLE, "address to serve on", partial(_address, settings, is_named=is_port_named))
    if settings.keeps_journal:
        yield Check(REACHABLE, "journal folder", partial(_folder, settings.log_dir or "", "--log-dir DIR"))
    else:
        yield Check(REACHABLE, "journal folder", partial(ok, "no journal is kept"))
    if settings.record:
        yield Check(REACHABLE, "recording folder", partial(_folder, settings.record, "--record DIR"))
    if settings.replay:
        yield Check(REACHABLE, "upstreams", partial(_replay, settings.replay))
        return
    asked = set()
    for enabled in settings.enabled():
        toolset, own = enabled
        # Toolsets of one domain share an upstream; a service may do without one.
        if toolset.upstream is None or toolset.upstream in asked:
            continue
        if toolset.needs or toolset.upstream(own).base_url is not None:
            asked.add(toolset.upstream)
            yield Check(REACHABLE, f"upstream of {toolset.name}", partial(_upstream, enabled, settings))


def _certificate(settings: Settings) -> CheckupResult:
    if not (settings.tls_cert and settings.tls_key):
        return trouble("--tls-cert and --tls-key go together", "write both")
    from signet.transports.tls import load_context

    try:
        load_context(settings.tls_cert, settings.tls_key)
    except OSError as error:
        return trouble(f"{settings.tls_cert} with {settings.tls_key}: {error.strerror or error}", "write other files")
    return ok(settings.tls_cert)


def _open_door(settings: Settings) -> CheckupResult:
    """Check that nobody else can call a tool that is not public."""
    try:
        toolbox, _ = open_toolbox(settings.enabled())
        refuse_open_door(settings, toolbox, is_local=is_local(settings.host))
    except UsageError as error:
        open_to = {"host": settings.host, "allowed_hosts": settings.allowed_hosts}
        given = {name: value for name, value in open_to.items() if settings.origins.get(name, "").startswith("--")}
        flags = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return trouble(str(error), advise("serve.token", flags=flags))
    try:
        check_access(settings)
    except UsageError as error:
        return trouble(str(error), "mend the setting")
    if is_protected(settings):
        return ok("callers must send a token" if settings.token is None else "callers must send the token")
    return ok("no token is set: only this machine can call, or only public tools are served")


def _address(settings: Settings, *, is_named: bool) -> CheckupResult:
    """Try to listen where `signet serve` would; a server of Signet there is fine."""
    host, port = settings.host, settings.port
    where = host if host.startswith(UNIX_PREFIX) else f"{host}:{port}"
    if host.startswith(UNIX_PREFIX):
        return _folder(os.path.dirname(os.path.abspath(host.removeprefix(UNIX_PREFIX))), "--host unix:PATH")
    try:
        bind(host, port).close()
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE and _is_signet(host, port):
            return ok(f"a Signet is serving on {where} already")
        why = getattr(error, "strerror", None) or str(error)
        finding = trouble if is_named or host != "127.0.0.1" else note
        return finding(f"cannot listen on {where} ({why})", f"{advise('serve.port')} picks a free port")
    return ok(f"{where} is free")


def _is_signet(host: str, port: int) -> bool:
    connection = BoundedConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/")
        return b'"name":"signet"' in connection.getresponse().read(4096)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _folder(path: str, flag: str) -> CheckupResult:
    """Check that a folder can be written to, or be made; nothing is made here."""
    existing = os.path.abspath(path)
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    shown = os.path.abspath(path)
    if not os.path.isdir(existing):
        return trouble(f"{existing} is in the way: it is no folder", f"write another {flag}")
    if not os.access(existing, os.W_OK | os.X_OK):
        grant = advise("folder.writable", folder=existing)
        return trouble(f"{existing} cannot be written to", f"write another {flag}, or: {grant}")
    return ok(shown if existing == shown else f"{shown} (made when it is needed)")


def _replay(folder: str) -> CheckupResult:
    try:
        read_recording(folder)
    except UsageError as error:
        return trouble(str(error))
    return ok(f"answered from the recording in {folder}: nothing is asked for")


async def _upstream(enabled: EnabledToolset, settings: Settings) -> CheckupResult:
    """Ask an upstream once, for something small, in a bounded time."""
    toolset, own = enabled
    spec: UpstreamSpec = toolset.upstream(own) if toolset.upstream is not None else UpstreamSpec(base_url=None)
    variable = f"--{toolset.domain}-base-url ({toolset.domain.upper()}_BASE_URL)"
    if spec.base_url is None:
        return trouble("it has no backend", f"write {variable}, or try --sandbox")
    bounded = msgspec.structs.replace(spec, timeout_s=min(spec.timeout_s, PROBE_S))
    try:
        turns = open_turns(settings) if spec.interval_s > 0 else ()
        upstream = HttpUpstream(bounded, turns=turns, proxied=not settings.sandbox)
    except ValueError as error:
        return trouble(str(error), f"write another {variable}")
    started = asyncio.get_running_loop().time()
    try:
        response = await upstream.send(spec.probe or UpstreamRequest("/"))
    except Fault as fault:
        return trouble(f"{upstream.origin}: {fault.message}", f"check {variable}, the network and its proxy")
    finally:
        await upstream.close()
    took_ms = (asyncio.get_running_loop().time() - started) * 1000
    return _judge(upstream, response, spec, f"{toolset.name.upper()}_TOKEN", f"{took_ms:.0f} ms")


def _judge(
    upstream: HttpUpstream, response: UpstreamResponse, spec: UpstreamSpec, token: str, took: str
) -> CheckupResult:
    where = upstream.origin
    if response.status in UNAUTHORIZED:
        what = "refuses the token" if upstream.has_token else "wants a token"
        return trouble(f"{where} {what} (HTTP {response.status})", f"set {token}")
    if response.broken:
        return trouble(f"{where} breaks off: {response.broken}", "try again later")
    if spec.probe is None:
        return ok(f"{where} answers (HTTP {response.status}, {took})")
    if response.status != OK:
        text = f"{where} answers with HTTP {response.status}{_said(response)}"
        return trouble(text, "check that this is the service's origin")
    if "json" not in response.content_type:
        kind = response.content_type.partition(";")[0] or "no type"
        return trouble(f"{where} answers with {kind}, not with JSON", "check that this is the service's origin")
    return ok(f"{where} answers ({took})")


def _said(response: UpstreamResponse) -> str:
    """Return what a refusal in JSON says for people, if anything."""
    try:
        value = msgspec.json.decode(response.body, type=dict[str, Any])
    except (ValueError, RecursionError):
        return ""
    texts = [value[name] for name in SAID_IN if isinstance(value.get(name), str)]
    return f": {' '.join(texts[0].split())[:MAX_SAID_CHARS]}" if texts else ""
