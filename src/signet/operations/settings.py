"""The settings of a server that a team runs; `Settings` has them all.

Annotations are evaluated in this module (no `from __future__ import annotations`): flags and pages are made from them.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from signet.kernel.settings import setting

__all__ = ["DEFAULT_SCOPES", "OperationSettings"]

DEFAULT_SCOPES: Final = "tools:call"


class OperationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may call, how often, what is written down of it, and where state is shared."""

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
    limits: dict[str, Any] = field(default_factory=dict)
    """The `[limits]` table of the file, checked."""
    origins: dict[str, str] = field(default_factory=dict)
    """The flag, the variable or the key of a file that set each setting, by its flat name; never a value."""
    store: Annotated[
        str,
        setting(
            "where state is shared: memory: (in this process) or redis://…, rediss://…, valkey://…",
            metavar="URL",
            default_text="memory:",
            secret=True,
        ),
    ] = "memory:"
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
