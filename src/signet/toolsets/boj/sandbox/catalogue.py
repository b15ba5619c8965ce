"""The databases: the Bank's 50, and a few more under names that the Bank does not have.

| name | what it is for |
|---|---|
| `TREE` | the manual's example of layers, series `A` to `M` |
| `CO_WHOLE` | metadata of CO in their real size: 166,513 series, about 100 MB |
| `FAIL500` | any question is answered with M181090S |
| `FAIL503` | any question is answered with M181091S |

Those of the 50 that have no table of their own have a heading and three series of each of their frequencies.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import msgspec

from .database import EndPeriod, Pair, SampleDatabase, SampleTable, read_rows
from .messages import refuse

__all__ = ["FAILING", "RESERVED", "WHOLE", "Catalogue"]

WHOLE: Final = "CO_WHOLE"
FAILING: Final = {"FAIL500": "M181090S", "FAIL503": "M181091S"}
RESERVED: Final = {
    "TREE": "the manual's example of layers, series A to M",
    WHOLE: "metadata of CO in their real size: 166,513 series, about 100 MB",
    **{name: f"answers {message_id}" for name, message_id in FAILING.items()},
}
"""What the Bank does not have."""

MADE: Final = 3
"""How many series of one frequency are made for a database without a table."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the Bank's databases; `every` names the frequencies of one that has no table."""

    code: str
    names: Pair
    every: list[str] = []


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The list of them, how far series go where no table says otherwise, and what they are where there is none."""

    ends: dict[str, EndPeriod]
    starts: dict[str, str]
    defaults: dict[str, Any]
    databases: list[About]


class Catalogue:
    """Gives databases by name; each is read when it is first asked for."""

    def __init__(self) -> None:
        self._folder = files(__package__) / "samples"
        self._index = msgspec.json.decode((self._folder / "databases.json").read_bytes(), type=Index)
        self._abouts = {about.code: about for about in self._index.databases}
        self._read: dict[str, SampleDatabase] = {}

    @property
    def names(self) -> dict[str, Pair]:
        """The Bank's 50, in the order of its manual."""
        return {code: about.names for code, about in self._abouts.items()}

    def find(self, name: str) -> SampleDatabase:
        """Give a database by its name in any case.

        Raises:
            Fault: there is none of this name, or it is there to fail.
        """
        code = name.upper()
        if code in FAILING:
            raise refuse(FAILING[code])
        if code not in self._abouts and code not in RESERVED:
            raise refuse("M181005E")
        if code not in self._read:
            self._read[code] = SampleDatabase(
                code, read_rows(self._table("CO" if code == WHOLE else code), self._index.ends)
            )
        return self._read[code]

    def _table(self, code: str) -> SampleTable:
        about = self._abouts.get(code)
        if about is None or not about.every:
            return msgspec.json.decode((self._folder / f"{code}.json").read_bytes(), type=SampleTable)
        rows: list[dict[str, Any]] = [{"at": [1], "names": about.names}]
        for number, every in enumerate(about.every, 1):
            made = {"every": every, "start": self._index.starts[every], "code": f"SAMPLE_{code}_{every}{{n}}"}
            rows.append({"at": [1, number, 1], "count": MADE, **made})
        return SampleTable(rows, {**self._index.defaults, "categories": about.names})
