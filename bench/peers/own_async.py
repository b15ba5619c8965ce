"""The tool as a user's own: a coroutine, which runs on the event loop."""

from __future__ import annotations

import signet
from bench.peers.plantuml import NAME, VIEWER, Encoded, encode


@signet.tool(name=NAME)
async def encode_plantuml(plantumlCode: str) -> Encoded:  # noqa: N803 - the argument's name on the wire
    """Encode PlantUML source text into a URL that shows the diagram."""
    encoded = encode(plantumlCode)
    return Encoded(url=VIEWER + encoded, encoded=encoded, format="svg")
