"""The tool body that every peer serves, without any library of a peer. Pure."""

from __future__ import annotations

import base64
import string
import zlib
from dataclasses import dataclass

__all__ = ["DESCRIPTION", "NAME", "VIEWER", "Encoded", "encode"]

NAME = "encodePlantUML"
DESCRIPTION = "Encode PlantUML source text into a URL that shows the diagram."
VIEWER = "https://www.plantuml.com/plantuml/svg/"

_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_PLANTUML = string.digits + string.ascii_uppercase + string.ascii_lowercase + "-_"
_TO_PLANTUML = bytes.maketrans(_BASE64.encode(), _PLANTUML.encode())
_LEVEL = 9


@dataclass
class Encoded:
    """A diagram's address."""

    url: str
    encoded: str
    format: str


def encode(text: str) -> str:
    """Deflate the text without a zlib header and spell it in PlantUML's alphabet."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(text.encode()) + packer.flush()
    return base64.b64encode(packed).translate(_TO_PLANTUML, delete=b"=").decode("ascii")
