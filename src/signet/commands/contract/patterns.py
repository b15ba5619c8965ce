"""Patterns: a few strings that a regular expression matches, the plainest first.

A small reader of what contracts are written in: literals, classes, groups, alternatives, repetitions. Assertions are
passed over, so a string may fail its pattern; whoever uses one checks it first. Pure.
"""

from __future__ import annotations

from typing import Final

__all__ = ["strings_of"]

MOST: Final = 24
"""How many strings one part of a pattern gives."""
LONGEST: Final = 2_000
"""No pattern is read and no string is drawn out further than this."""

CLASSES: Final = {"d": "07", "w": "aZ_9", "s": " \t", "D": "a-", "W": "- ", "S": "a9", "t": "\t", "n": "\n", "r": "\r"}
BOUNDS: Final = "bBAzZ"
ANY: Final = "a0 -~Z"
OTHERS: Final = "aZ0_- .~/é"
"""What a negated class is tried with."""


def strings_of(pattern: str, reach: int = 0) -> list[str]:
    """Give strings that a pattern may match, some of them at least `reach` long where it repeats without end."""
    if len(pattern) > LONGEST:
        return []
    try:
        return _Pattern(pattern, reach).alternatives()[:MOST]
    except (IndexError, ValueError, RecursionError):
        return []


class _Pattern:
    """A place in a pattern, read from left to right."""

    def __init__(self, text: str, reach: int) -> None:
        self.text = text
        self.at = 0
        self.reach = min(reach, LONGEST)

    def alternatives(self) -> list[str]:
        found = self._sequence()
        while self._take("|"):
            found = _distinct([*found[:1], *self._sequence(), *found[1:]])
        return found

    def _sequence(self) -> list[str]:
        """Join the plainest strings of each part, then vary one part at a time."""
        parts: list[list[str]] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(self._atom()))
        plain = [part[0] for part in parts]
        found = ["".join(plain)]
        for place, part in enumerate(parts):
            found += ["".join((*plain[:place], one, *plain[place + 1 :])) for one in part[1:]]
        return _distinct(found)

    def _atom(self) -> list[str]:
        sign = self._next()
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._class()
        if sign == "\\":
            return self._escape()
        if sign in "^$":
            return [""]
        return list(ANY) if sign == "." else [sign]

    def _group(self) -> list[str]:
        asserts = False
        if self._take("?"):
            sign = self._next()
            if sign in "=!":
                asserts = True
            elif sign in "<P":
                asserts = self.text[self.at] in "=!"
                self.at = self.at + 1 if asserts else self.text.index(">", self.at) + 1
            elif sign != ":":
                raise ValueError(sign)
        found = self.alternatives()
        if not self._take(")"):
            raise ValueError(self.text)
        return [""] if asserts else found

    def _escape(self) -> list[str]:
        sign = self._next()
        if sign in BOUNDS:
            return [""]
        if sign in "ux":
            width = 4 if sign == "u" else 2
            code, self.at = self.text[self.at : self.at + width], self.at + width
            return [chr(int(code, 16))]
        if sign in "pPk" or sign.isdigit():
            raise ValueError(sign)
        return list(CLASSES.get(sign, sign))

    def _class(self) -> list[str]:
        """Give both ends of each range, or signs outside of a negated class."""
        negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        while not self._take("]"):
            signs = self._escape() if self._take("\\") else [self._next()]
            if len(signs) == 1 and self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                ranges.append((signs[0], self._escape()[0] if self._take("\\") else self._next()))
            else:
                ranges += [(sign, sign) for sign in signs]
        if negated:
            return [sign for sign in OTHERS if not any(low <= sign <= high for low, high in ranges)] or ["\u2603"]
        return _distinct([low for low, _ in ranges] + [high for _, high in ranges])

    def _repeated(self, one: list[str]) -> list[str]:
        """Give a part as often as its quantifier says: at least, once more, at most."""
        least, most = self._quantifier()
        top = most if most is not None else max(least + 2, self.reach)
        longest = LONGEST // max(1, *map(len, one))
        if least > longest:
            raise ValueError(least)
        counts = sorted({least, min(least + 1, top, longest), min(top, longest)})
        if least > 1 or one == [""]:
            return _distinct([sign * count for count in counts for sign in one])
        once = [sign for sign in one if top]
        # One is plainer than none, and every sign is tried once.
        return _distinct([*once, *(one[0] * count for count in counts), *(sign * counts[-1] for sign in once)])

    def _quantifier(self) -> tuple[int, int | None]:
        bounds: tuple[int, int | None] = (1, 1)
        if self._take("*"):
            bounds = (0, None)
        elif self._take("+"):
            bounds = (1, None)
        elif self._take("?"):
            bounds = (0, 1)
        elif self.text[self.at : self.at + 1] == "{":
            end = self.text.index("}", self.at)
            low, comma, high = self.text[self.at + 1 : end].partition(",")
            self.at = end + 1
            bounds = (int(low or 0), (int(high) if high else None) if comma else int(low))
        else:
            return bounds
        # Lazy or possessive: what can be matched is the same.
        _ = self._take("?") or self._take("+")
        return bounds

    def _next(self) -> str:
        sign = self.text[self.at]
        self.at += 1
        return sign

    def _take(self, sign: str) -> bool:
        if self.text[self.at : self.at + 1] != sign:
            return False
        self.at += 1
        return True


def _distinct(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))[:MOST]
