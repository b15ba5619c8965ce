"""Answers that are kept for the next who asks the same: so many bytes of them, the latest used last to go."""

from __future__ import annotations

import threading
from collections import OrderedDict

__all__ = ["KeptProofs"]


class KeptProofs:
    """Answers by the digest of their question. For any thread."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self.size = 0
        """The bytes of all answers."""

    def get(self, key: bytes) -> bytes | None:
        """Return the answer to a question, or None."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def put(self, key: bytes, answer: bytes) -> None:
        """Keep an answer, unless it alone is too large; those that were not used for longest make room."""
        with self._lock:
            self.size -= len(self._answers.pop(key, b""))
            if len(answer) > self._max_bytes:
                return
            self._answers[key] = answer
            self.size += len(answer)
            while self.size > self._max_bytes:
                self.size -= len(self._answers.popitem(last=False)[1])
