"""Decide how a request is answered: by the control API, a redirect, a fault rule or the handler; no I/O.

The control API under `/_sandbox` is for other processes:

GET    /_sandbox             what the sandbox is, and the faults that it knows
GET    /_sandbox/faults      the active fault rules, with their remaining times
POST   /_sandbox/faults      add a fault rule
DELETE /_sandbox/faults      remove all fault rules
GET    /_sandbox/requests    the request log
DELETE /_sandbox/requests    clear the request log
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from signet.kernel.errors import Code, Fault

from .body_faults import FaultRule
from .exchange import LoggedRequest, RequestLog
from .faults import FAULTS, FaultRules, follow_redirect, read_fault_rule
from .message import SandboxRequest, SandboxResponse, json_response, problem_response

__all__ = ["Handler", "RequestRouter"]

Handler = Callable[[SandboxRequest], SandboxResponse]

ROOT: Final = "/_sandbox"
NO_CONTENT: Final = SandboxResponse(204, type=None)
NO_FAULT: Final = FaultRule()


class RequestRouter:
    """The state that the connections of one sandbox share: its handler, fault rules and log."""

    def __init__(self, handler: Handler, about: dict[str, Any]) -> None:
        self.rules = FaultRules()
        self.log = RequestLog()
        self._handler = handler
        self._control = ControlApi(about, self.rules, self.log)

    def route(self, request: SandboxRequest) -> tuple[Callable[[], SandboxResponse], FaultRule, LoggedRequest]:
        """Return the normal response as a function, the rule that sends it, and the log entry of the request."""
        entry = self.log.describe(request)
        control = self._control.answer(request)
        if control is not None:
            return (lambda: control), NO_FAULT, entry
        self.log.add(entry)
        redirect = follow_redirect(request)
        if isinstance(redirect, SandboxResponse):
            return (lambda: redirect), NO_FAULT, entry
        rule = self.rules.take(request.target) if redirect is None else None
        entry.fault = rule.name if rule else None
        return partial(self._handler, redirect or request), rule or NO_FAULT, entry


class ControlApi:
    """The HTTP API under `/_sandbox`."""

    def __init__(self, about: dict[str, Any], rules: FaultRules, log: RequestLog) -> None:
        self._rules = rules
        self._log = log
        about = {**about, "data": "sample data", "faults": FAULTS}
        self._routes: dict[str, dict[str, Callable[[SandboxRequest], SandboxResponse]]] = {
            ROOT: {"GET": lambda _: json_response(about)},
            f"{ROOT}/faults": {
                "GET": lambda _: json_response({"faults": rules.all()}),
                "POST": self._add_rule,
                "DELETE": lambda _: _cleared(rules),
            },
            f"{ROOT}/requests": {
                "GET": lambda _: json_response({"requests": log.all()}),
                "DELETE": lambda _: _cleared(log),
            },
        }

    def answer(self, request: SandboxRequest) -> SandboxResponse | None:
        """Return the response to a control request, or None for any other request."""
        path = request.path.removesuffix("/")
        if path != ROOT and not path.startswith(ROOT + "/"):
            return None
        # A page of another site can send a request here, but never one without an Origin.
        if "origin" in request.headers:
            return problem_response(403, "web pages have no say here")
        methods = self._routes.get(path)
        if methods is None:
            return problem_response(404, f"the sandbox has no {path}")
        # The writer omits the body of a response to HEAD.
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            return problem_response(405, f"{path} takes {', '.join(methods)}", {"allow": ", ".join(methods)})
        try:
            return methods[method](request)
        except Fault as fault:
            return problem_response(fault.status, fault.message)

    def _add_rule(self, request: SandboxRequest) -> SandboxResponse:
        try:
            value = msgspec.json.decode(request.body, type=dict[str, Any])
        except (ValueError, RecursionError) as error:
            raise Fault(Code.INVALID_INPUT, f"an order is a JSON object: {error}") from None
        rule = read_fault_rule(value)
        self._rules.add(rule)
        return json_response(rule, 201)


def _cleared(items: FaultRules | RequestLog) -> SandboxResponse:
    items.clear()
    return NO_CONTENT
