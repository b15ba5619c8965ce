"""Orders: which fault is to befall which requests, and how often."""

from __future__ import annotations

from typing import Annotated

import msgspec

from .exchange import ResponseWriter

__all__ = ["FaultRule", "FaultRules", "Status"]

Status = Annotated[int, msgspec.Meta(ge=200, le=599)]


class FaultRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="fault"):
    """One fault for every request whose raw target holds `match`, `times` times or until cleared."""

    match: str | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None

    @property
    def name(self) -> str:
        """The fault's name."""
        return str(self.__struct_config__.tag)

    async def play(self, exchange: ResponseWriter) -> None:
        """Answer, or fail to, as the fault is described."""
        await exchange.send(exchange.real())


class FaultRules:
    """The orders that stand: the first that fits a request is taken, and is gone once its times are."""

    def __init__(self) -> None:
        self._standing: list[FaultRule] = []

    def add(self, order: FaultRule) -> None:
        """Let an order stand after those that do."""
        self._standing.append(order)

    def take(self, target: str) -> FaultRule | None:
        """Give the order for a request, if there is one."""
        for place, order in enumerate(self._standing):
            if order.match is None or order.match in target:
                if order.times is not None:
                    left = order.times - 1
                    self._standing[place : place + 1] = [msgspec.structs.replace(order, times=left)] if left else []
                return order
        return None

    def all(self) -> tuple[FaultRule, ...]:
        """Give the orders that stand, with the times that are left."""
        return tuple(self._standing)

    def clear(self) -> None:
        """Let none stand."""
        self._standing.clear()
