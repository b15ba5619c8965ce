"""The relay matrix: every case, door and pairing of eras; `python -m wrap.relay_matrix NAME` runs it on a wrapper.

The tests run half of it on `signet wrap`; run by hand it counts the cases that this or another project's proxy holds.
"""

from __future__ import annotations

import argparse
import sys

from wrap import cases_calls, cases_talk
from wrap.callers import ERAS, Caller
from wrap.relay_case import Case, Links
from wrap.wrappers import DIRECT, DOORS, FASTMCP, WRAP

Place = tuple[Case, str, str, str]

# Calls come first, of callers of both eras: a server that has asked its callers once is called by one at a time.
PLACES: list[Place] = [
    (case, door, era, child_era)
    for child_era in ERAS
    for door in DOORS
    for table in (cases_calls.table, cases_talk.table)
    for era in ERAS
    for case in table.cases
    if (door, era, child_era) in set(case.places())
]


ALL_PLACES = len(DOORS) * len(ERAS) ** 2


def in_turn() -> list[Place]:
    """Return half of the places of the cases that apply everywhere, in turn: each door with each era of either side.

    Every pairing of eras is kept too; what is left out is the same case and pairing through the other door.
    """
    cases = [*cases_calls.table.cases, *cases_talk.table.cases]
    return [
        (case, door, era, child_era)
        for case, door, era, child_era in PLACES
        if len(list(case.places())) < ALL_PLACES
        or (cases.index(case) + DOORS.index(door) + ERAS.index(era) + ERAS.index(child_era)) % 2 == 0
    ]


def label_of(place: Place) -> str:
    """Return the name of one case in one place."""
    case, door, era, child_era = place
    return f"{case.name}-{door}-{era}-{child_era}"


def run(links: Links, place: Place) -> None:
    """Run one case in one place; raise AssertionError where it does not hold."""
    case, door, era, child_era = place
    link = links.link(door, era, child_era)
    link.label = label_of(place)
    case.run(link)


def main() -> int:
    """Run all cases on one wrapper and count those that hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wrapper", choices=["direct", "wrap", "fastmcp"])
    parser.add_argument("--only", default="", help="a word that the names of the cases hold")
    parser.add_argument("--patience-s", type=float, default=5.0, help="how long an answer is waited for")
    options = parser.parse_args()
    wrapper = {"direct": DIRECT, "wrap": WRAP, "fastmcp": FASTMCP}[options.wrapper]
    Caller.patience_s = options.patience_s
    links = Links(wrapper)
    held = tried = 0
    for place in PLACES:
        _, door, era, child_era = place
        if options.only not in label_of(place) or (
            options.wrapper == "direct" and (door == "http" or era != child_era)
        ):
            continue
        tried += 1
        try:
            run(links, place)
            held += 1
            print(f"+ {label_of(place)}", flush=True)
        except Exception as failure:  # noqa: BLE001 - whatever a proxy does, the next case is run
            if "answered" in str(failure) or "never" in str(failure):
                links.discard(door, era, child_era)  # it may hang; a wrong answer harms nobody else
            print(f"- {label_of(place)}: {type(failure).__name__} {str(failure)[:300]}", flush=True)
    links.close()
    print(f"{wrapper.name}: {held} of {tried} cases hold")
    return int(held < tried)


if __name__ == "__main__":
    sys.exit(main())
