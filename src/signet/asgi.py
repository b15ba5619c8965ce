"""The web application for other servers and frameworks: `signet.asgi:app`, or `create_app(…)` with settings of its own.

uvicorn signet.asgi:app                                            configured by SIGNET_… variables and signet.toml
api.mount("/tools", signet.asgi.create_app(toolsets="plantuml"))   below a path of FastAPI or Starlette
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from signet.app import JOURNALS, build_app, check, resolve
from signet.settings.reading import read_settings
from signet.settings.usage import UsageError
from signet.team.access import refuse_open_door
from signet.transports.asgi import AsgiApp

__all__ = ["create_app"]


def create_app(environ: Mapping[str, str] | None = None, **settings: Any) -> AsgiApp:
    """Return an ASGI application.

    Args:
        environ: variables such as `SIGNET_TOOLSETS`; none by default.
        settings: the settings of `signet serve` by their names, such as `toolsets="plantuml"`; they win over variables,
            and those over the file that `config="signet.toml"` names.

    Raises:
        UsageError: a setting is not known, or cannot be used.
    """
    return _build(environ or {}, settings, search=False)


def _build(environ: Mapping[str, str], settings: Mapping[str, Any], *, search: bool) -> AsgiApp:
    resolved = resolve(read_settings(environ, settings, search=search, defaults={"log_dir": JOURNALS}))
    if resolved.dev:
        # Which addresses the other server listens on is not known here.
        raise UsageError("development mode is for signet serve and signet stdio: leave SIGNET_DEV out")
    if resolved.metrics_port is not None:
        # How many processes the other server has is not known here either.
        raise UsageError("the metrics port is for signet serve: leave SIGNET_METRICS_PORT out")
    toolbox, _ = check(resolved)
    refuse_open_door(resolved, toolbox, is_local=True)
    return AsgiApp(build_app(resolved))


def __getattr__(name: str) -> Any:
    """Return `app`, built when it is first asked for; `create_app` alone needs no variables."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    app = globals()["app"] = _build(os.environ, {}, search=True)
    return app
