"""The parity corpus of the station."""

from __future__ import annotations

from signet.kernel.toolset import CorpusRow

ROWS: tuple[CorpusRow, ...] = (
    ("a reading", "station_read", {"sensor": "roof"}),
    ("a reading in another unit", "station_read", {"sensor": "cellar", "unit": "kelvin"}),
    ("a note", "station_note", {"text": "all is well ☀"}),
    ("a sensor that is not there (404)", "station_read", {"sensor": "attic"}),
    ("no sensor", "station_read", {}),
    ("a station in trouble (503)", "station_read", {"sensor": "roof"}, ({"fault": "status", "status": 503},)),
    ("a station that hangs up", "station_note", {"text": "x"}, ({"fault": "close"},)),
)
