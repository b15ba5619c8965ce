"""The settings of the process, described: one field each, with its type, its default and its text.

The annotations are texts here, so that a start evaluates those of the settings that are given alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from .fields import setting

if TYPE_CHECKING:
    from signet.settings.server_spec import Wrapping

__all__ = ["DEFAULT_SCOPES", "MEMORY", "ProcessSettings"]

DEFAULT_SCOPES: Final = "tools:call"
MEMORY: Final = "memory:"
"""The store in this process."""


class ProcessSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the process serves and how, who may call, how often, what is written down, and where state is shared."""

    host: Annotated[str, Meta(pattern=r"\S"), setting("address to listen on, or unix:PATH", metavar="HOST")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535), setting("port to listen on; 0 picks a free one", metavar="PORT")] = 8080
    toolsets: Annotated[str, setting("toolsets to serve, separated by commas", metavar="A,B")] = ""
    token: Annotated[
        str | None,
        setting(
            "bearer token that callers must send; a process list shows a flag, but not a variable",
            secret=True,
            in_header=True,
        ),
    ] = None
    tls_cert: Annotated[
        str | None, setting("certificate for HTTPS, PEM; it is read again when it changes", metavar="FILE")
    ] = None
    tls_key: Annotated[str | None, setting("private key of the certificate, PEM", metavar="FILE")] = None
    connections_per_address: Annotated[
        int, Meta(ge=1, le=1_000_000), setting("connections that one address may have open at once", metavar="N")
    ] = 1024
    workers: Annotated[int, Meta(ge=1, le=64), setting("number of server processes", metavar="N")] = 1
    allowed_hosts: Annotated[
        str, setting("further host names to answer to, separated by commas; * for any", metavar="NAMES")
    ] = ""
    dev: Annotated[bool, setting("reload the tools on a change, answer with tracebacks; on this machine only")] = False
    quiet: Annotated[bool, setting("print nothing at the start, but the address if --port 0 picks it")] = False
    call_timeout_s: Annotated[float, Meta(gt=0, le=3600), setting("seconds that a call may take", metavar="S")] = 50.0
    log: Annotated[
        str,
        setting("log filter for stderr: off, error, warn, info, debug, trace, or target=level", metavar="FILTER"),
    ] = "warn"
    log_lenient: bool = False
    log_dir: Annotated[str | None, setting("folder of the journal", metavar="DIR")] = None
    journal: Annotated[bool, setting("write a journal of calls")] = True
    deterministic_ids: Annotated[bool, setting("derive ids from the call (UUIDv5) instead of random ones")] = False
    validation: Annotated[
        Literal["off", "shadow", "enforce"],
        setting(
            "what to do with a value that breaks its contract: enforce (refuse it), shadow (record it), off",
            metavar="MODE",
            recorded=True,
        ),
    ] = "enforce"  # rule: 5.envelope.enforced
    sandbox: Annotated[bool, setting("serve every toolset on embedded sample data")] = False
    record: Annotated[
        str | None, setting("record every exchange with upstreams and servers, and every call, in DIR", metavar="DIR")
    ] = None
    replay: Annotated[
        str | None, setting("answer from the recording in DIR, without network and without servers", metavar="DIR")
    ] = None
    config: Annotated[
        str | None,
        setting("file with settings", metavar="FILE", default_text="signet.toml in the working folder, if there"),
    ] = None
    stdio_reader: Annotated[
        Literal["auto", "thread"], setting("how standard input is read: by the event loop where it can, or by a thread")
    ] = "auto"
    run_name: str = ""
    """The name that the processes of one run have in common."""
    by_toolset: dict[str, Any] = msgspec.field(default_factory=dict)
    """The settings of each domain by its name, where they are not the defaults."""
    wrapping: Wrapping | None = None
    launch: tuple[str, ...] = ()
    """The words behind `signet` that serve the same tools on stdio, without secrets; empty without a command line."""
    tokens_file: Annotated[
        str | None,
        setting("file of named tokens (signet token new); it is read again when it changes", metavar="FILE"),
    ] = None
    oauth_issuer: Annotated[
        str | None, setting("issuer of OAuth access tokens; its metadata says where its keys are", metavar="URL")
    ] = None
    oauth_audience: Annotated[
        str | None,
        setting(
            "audience that an OAuth access token must name", metavar="TEXT", default_text="the public URL with /mcp"
        ),
    ] = None
    oauth_jwks_url: Annotated[
        str | None, setting("URL of the issuer's keys, if its metadata does not name it", metavar="URL")
    ] = None
    oauth_scopes: Annotated[
        str, setting("OAuth scopes that clients are told to ask for, separated by spaces", metavar="SCOPES")
    ] = DEFAULT_SCOPES
    public_url: Annotated[
        str | None,
        setting("URL under which clients reach the server, without /mcp; it may have a path", metavar="URL"),
    ] = None
    trusted_proxies: Annotated[
        str,
        setting(
            "addresses or networks whose X-Forwarded-For is believed, separated by commas; unix for a unix socket",
            metavar="NETS",
        ),
    ] = ""
    console: Annotated[bool, setting("serve the console: a page at / for people, and its JSON below /-/")] = True
    console_dir: str = ""
    """The folder in which the processes of one server tell each other what the console shows."""
    drain_s: Annotated[
        float,
        Meta(ge=0, le=3600),
        setting(
            "seconds after the signal to stop in which requests are still accepted and /readyz answers 503",
            metavar="S",
        ),
    ] = 0.0
    audit_log: Annotated[
        str | None,
        setting(
            "file of the audit log: a line for each request, chained by hashes; - is standard output", metavar="FILE"
        ),
    ] = None
    audit_head: str = ""
    """The file by which the processes that write one audit log to standard output take turns."""
    audit_key: Annotated[
        str | None,
        setting(
            "secret key of the audit log's hashes; without it the log cannot be forged", metavar="KEY", secret=True
        ),
    ] = None
    access_log: Annotated[bool, setting("write a log line for each HTTP request")] = False
    log_format: Annotated[Literal["text", "json"], setting("form of log lines: text or json", metavar="FORM")] = "text"
    rate_limit: Annotated[
        str | None,
        setting(
            "calls that each principal (else each address) may make, such as 60/min or 5/s; more in [limits]",
            metavar="RATE",
            default_text="no limit",
        ),
    ] = None
    limits: dict[str, Any] = msgspec.field(default_factory=dict)
    """The `[limits]` table of the file, checked."""
    origins: dict[str, str] = msgspec.field(default_factory=dict)
    """The flag, the variable or the key of a file that set each setting, by its flat name; never a value."""
    store: Annotated[
        str,
        setting(
            "where state is shared: memory: (in this process) or redis://…, rediss://…, valkey://…",
            metavar="URL",
            default_text="memory:",
            secret=True,
        ),
    ] = MEMORY
    metrics_port: Annotated[
        Annotated[int, Meta(ge=0, le=65_535)] | None,
        setting(
            "port on which /metrics is served for Prometheus; 0 picks a free one", metavar="PORT", default_text="none"
        ),
    ] = None
    metrics_host: Annotated[str, setting("address on which --metrics-port listens", metavar="HOST")] = "127.0.0.1"
    metrics_dir: str = ""
    """The folder in which the processes of one server keep their figures."""
    journal_keep: Annotated[
        int, Meta(ge=1, le=1_000_000), setting("number of runs whose journals are kept", metavar="N")
    ] = 5
    journal_max_mb: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000_000)] | None,
        setting(
            "largest size of all journals together; the oldest are removed first", metavar="MB", default_text="no limit"
        ),
    ] = None
    journal_max_age: Annotated[
        str | None,
        setting("age at which a journal is removed, such as 12h or 30d", metavar="AGE", default_text="no limit"),
    ] = None
