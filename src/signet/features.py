"""The table of features, as data: dotted words for the parts that lower rooms ask for. It imports nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["PROVIDERS"]

PROVIDERS: Final = {
    "target": "signet.authoring.target:load_target",
    "target.forms": "signet.authoring.target:FORMS",
    "document": "signet.openapi.toolset:open_target",
    "documents": "signet.openapi.servers_of_file:open_documents",
    "limits": "signet.operations.limits.table:read_limits",
    "limits.foreign": "signet.operations.limits.table:names_of_no_toolset",
    "server.secrets": "signet.relay.spec_secrets:secrets_of",
}
"""What `settings` asks of features: a module and a name in it, by the purpose; imported when first used."""
