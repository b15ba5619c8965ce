"""The sandbox under `/_sandbox`, for other processes: order faults, read the log, ask what this is.

GET    /_sandbox             what this is, and the faults it knows
GET    /_sandbox/faults      the orders that stand, with the times that are left
POST   /_sandbox/faults      one more order
DELETE /_sandbox/faults      none any more
GET    /_sandbox/requests    the log
DELETE /_sandbox/requests    an empty log
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault

from .fault_rule import FaultRules
from .faults import FAULTS, read_fault_rule
from .message import SandboxRequest, SandboxResponse, json_of, problem_of
from .request_log import RequestLog

__all__ = ["Control"]

ROOT: Final = "/_sandbox"
DONE: Final = SandboxResponse(204, type=None)


class Control:
    """Answers what is asked of the sandbox itself."""

    def __init__(self, about: dict[str, Any], orders: FaultRules, log: RequestLog) -> None:
        self._about = {**about, "data": "sample data", "faults": FAULTS}
        self._orders = orders
        self._log = log
        self._routes: dict[str, dict[str, Callable[[SandboxRequest], SandboxResponse]]] = {
            ROOT: {"GET": self._tell},
            f"{ROOT}/faults": {"GET": self._list, "POST": self._order, "DELETE": self._clear},
            f"{ROOT}/requests": {"GET": self._read, "DELETE": self._forget},
        }

    def answer(self, request: SandboxRequest) -> SandboxResponse | None:
        """Answer a request to the sandbox itself; None when it is for the upstream that it plays."""
        path = request.path.removesuffix("/")
        if path != ROOT and not path.startswith(ROOT + "/"):
            return None
        # A page of another site can send a request here, but never one without an Origin.
        if "origin" in request.headers:
            return problem_of(403, "web pages have no say here")
        methods = self._routes.get(path)
        if methods is None:
            return problem_of(404, f"the sandbox has no {path}")
        # The sender leaves out the body in answer to HEAD.
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            return problem_of(405, f"{path} takes {', '.join(methods)}", {"allow": ", ".join(methods)})
        try:
            return methods[method](request)
        except Fault as fault:
            return problem_of(fault.status, fault.message)

    def _tell(self, _: SandboxRequest) -> SandboxResponse:
        return json_of(self._about)

    def _list(self, _: SandboxRequest) -> SandboxResponse:
        return json_of({"faults": self._orders.all()})

    def _order(self, request: SandboxRequest) -> SandboxResponse:
        try:
            value = msgspec.json.decode(request.body, type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise Fault(Code.INVALID_INPUT, f"an order is a JSON object: {error}") from None
        order = read_fault_rule(value)
        self._orders.add(order)
        return json_of(order, 201)

    def _clear(self, _: SandboxRequest) -> SandboxResponse:
        self._orders.clear()
        return DONE

    def _read(self, _: SandboxRequest) -> SandboxResponse:
        return json_of({"requests": self._log.all()})

    def _forget(self, _: SandboxRequest) -> SandboxResponse:
        self._log.clear()
        return DONE
