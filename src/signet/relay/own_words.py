"""Sentences on failures without what the server itself said, for callers of a pinned server. Pure.

A model reads these sentences. The log keeps the words of the server.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["own_words"]

INSTEAD: Final = " (the log has its words)"
QUOTED: Final = re.compile(
    r"; its last line on standard error: .*|(?<=it refuses to begin): .*|(?<=/list failed): .*"
    r"|(?<=it speaks the revision) .*",
    re.DOTALL,
)
"""What a sentence repeats of a server, to the end of the sentence."""
NAMED: Final = re.compile(r"it lists the (\w{1,20}) .* twice\Z", re.DOTALL)


def own_words(sentence: str) -> str:
    """Return a sentence without the words of the server that it repeats."""
    return NAMED.sub(r"it lists a \1 twice", QUOTED.sub(INSTEAD, sentence, count=1))
