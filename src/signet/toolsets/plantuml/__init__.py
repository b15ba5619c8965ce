"""PlantUML: diagrams as links (spec 4)."""

from .tools import encode_plantuml

__all__ = ["TOOLS"]

TOOLS = (encode_plantuml,)
