"""The gate of scopes: a principal calls the tools that its token allows."""

from __future__ import annotations

from signet.kernel.caller import CALL_ALL
from signet.kernel.errors import Fault, insufficient_scope
from signet.kernel.outcome import Call
from signet.kernel.tools import Tool

__all__ = ["ScopeGate"]


class ScopeGate:
    """Lets a call in if its caller has a principal whose scopes allow the tool, or none at all."""

    def enter(self, call: Call, tool: Tool) -> Fault | None:
        """Return the fault for a call that the scopes do not allow."""
        principal = call.caller.principal
        if principal is None or principal.may_call(tool.slug):
            return None
        return insufficient_scope(tool.name, f"{CALL_ALL}:{tool.slug}")
