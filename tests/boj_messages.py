"""The Bank of Japan's messages in tests: which English texts are its own, and how a message is ordered."""

from __future__ import annotations

import json
from typing import Any

from signet.toolsets.boj.sandbox.messages import MESSAGES, text_of

KNOWN_ENGLISH = {"M181000I", "M181001E", "M181002E", "M181005E", "M181013E", "M181018E"}
"""The messages whose English text was seen in the Bank's own responses."""


def order_of(message_id: str, *, lang: str = "jp", times: int | None = None) -> dict[str, Any]:
    """The fault rule that answers any request with a message."""
    status, text = MESSAGES[message_id].status, text_of(message_id, lang, 1)
    body = {"STATUS": status, "MESSAGEID": message_id, "MESSAGE": text, "DATE": "2026-02-19T20:45:46.957+09:00"}
    encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return {"fault": "answer", "status": status, "body": encoded, "times": times}
