"""Parts of the features above that settings need: one table of dotted words, each imported when it is first used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

__all__ = ["provider"]

PROVIDERS: Final = {
    "target": "signet.authoring.target:load_target",
    "target.forms": "signet.authoring.target:FORMS",
    "document": "signet.openapi.toolset:open_target",
    "documents": "signet.openapi.servers_of_file:open_documents",
    "limits": "signet.operations.limits.table:read_limits",
    "limits.foreign": "signet.operations.limits.table:names_of_no_toolset",
    "server.label": "signet.relay.tape:LABEL",
    "server.secrets": "signet.relay.spec_secrets:secrets_of",
}


@cache
def provider(name: str) -> Any:
    """Return a part by its name in the table."""
    module, _, attribute = PROVIDERS[name].partition(":")
    return getattr(import_module(module), attribute)
