"""Learned contracts: what a server's tools were seen to answer, enforced where the server itself promises nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from signet.kernel.schemas import Bundle
from signet.system.files import read_regular

__all__ = ["learned_outputs"]


def learned_outputs(folder: str) -> Mapping[str, msgspec.Raw]:
    """Return the output schema of each tool that a folder of bundles has one of.

    A schema that was inferred from texts is left out: nothing but structured content is checked.

    Raises:
        ValueError: the folder or a file in it cannot be read, with a sentence.
    """
    inside = os.path.join(folder, "tools")
    place = inside if os.path.isdir(inside) else folder
    outputs = {}
    try:
        for name in sorted(os.listdir(place)):
            if name.endswith(".json"):
                bundle = msgspec.json.decode(read_regular(os.path.join(place, name), follow_link=True), type=Bundle)
                schema = msgspec.json.decode(bundle.output)
                if not isinstance(schema, dict) or schema.get("x-inferred-from") != "text":
                    outputs[bundle.tool] = bundle.output
    except OSError as error:
        raise ValueError(f"the contracts in {folder} cannot be read ({error.strerror})") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{os.path.join(place, name)} is no bundle of a tool's contracts ({error})") from None
    return outputs
