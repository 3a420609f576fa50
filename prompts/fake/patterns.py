"""Texts that match a regular expression, for the patterns that schemas use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conspectus.prompts.fake.chance import Dice

_CLASSES = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyz0123456789_", "s": " "}
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_MORE = 4
"""How many times more than it must a repetition without a bound repeats."""


class UnsupportedPattern(ValueError):
    """The expression uses something that no text is made for here."""


def pattern_text(pattern: str, dice: Dice) -> str:
    """Return a text in which the expression matches, always the same for the same dice.

    Groups, alternatives, classes, repetitions and anchors are understood; UnsupportedPattern for anything else
    (look-around, references, flags).

    >>> import re
    >>> bool(re.fullmatch("[A-Z]{2}-[0-9]+", pattern_text("^[A-Z]{2}-[0-9]+$", Dice("example"))))
    True
    """
    reader = _Reader(pattern, dice)
    text = reader.alternatives()
    if reader.at < len(pattern) or not re.search(pattern, text):
        raise UnsupportedPattern(f"The pattern {pattern!r} is not supported.")
    return text


@dataclass
class _Reader:
    """Reads an expression from `at` on and makes its text on the way."""

    pattern: str
    dice: Dice
    at: int = 0

    def alternatives(self) -> str:
        """Read up to a closing parenthesis or the end."""
        made = [self._sequence()]
        while self._next("|"):
            made.append(self._sequence())
        return self.dice.choice(made)

    def _next(self, expected: str) -> bool:
        found = self.pattern.startswith(expected, self.at)
        self.at += len(expected) * found
        return found

    def _sequence(self) -> str:
        parts = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            start = self.at
            part = self._atom()
            end = self.at
            least, most = self._repeats()
            after = self.at
            count = self.dice.whole(least, most)
            for turn in range(count):
                if turn:
                    self.at = start
                    part = self._atom()
                parts.append(part)
            self.at = max(after, end)
        return "".join(parts)

    def _atom(self) -> str:
        sign = self.pattern[self.at]
        self.at += 1
        if sign in "^$":
            return ""
        if sign == "(":
            if self._next("?") and not self._next(":"):
                raise UnsupportedPattern(f"The pattern {self.pattern!r} uses a group that is not supported.")
            made = self.alternatives()
            if not self._next(")"):
                raise UnsupportedPattern(f"The pattern {self.pattern!r} does not close a group.")
            return made
        if sign == "[":
            return self.dice.choice(self._members())
        if sign == ".":
            return self.dice.choice(_CLASSES["w"])
        if sign == "\\":
            return self.dice.choice(self._escaped())
        return sign

    def _escaped(self) -> str:
        sign = self.pattern[self.at]
        self.at += 1
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign.lower() in _CLASSES:
            without = _CLASSES[sign.lower()] + (_CLASSES["w"].upper() if sign == "W" else "")
            return "".join(each for each in _PRINTABLE if each not in without)
        if sign in "nt":
            return {"n": "\n", "t": "\t"}[sign]
        if sign.isalnum():
            raise UnsupportedPattern(f"The pattern {self.pattern!r} uses \\{sign}, which is not supported.")
        return sign

    def _members(self) -> str:
        outside = self._next("^")
        members = "".join(self._ranges())
        chosen = "".join(each for each in _PRINTABLE if each not in members) if outside else members
        if not chosen:
            raise UnsupportedPattern(f"The pattern {self.pattern!r} has a class that holds nothing printable.")
        return chosen

    def _ranges(self) -> Iterator[str]:
        first = True
        while self.at < len(self.pattern) and (first or self.pattern[self.at] != "]"):
            first = False
            sign = self.pattern[self.at]
            self.at += 1
            low = self._escaped() if sign == "\\" else sign
            if self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                sign = self.pattern[self.at]
                self.at += 1
                high = self._escaped() if sign == "\\" else sign
                yield "".join(map(chr, range(ord(low), ord(high) + 1)))
            else:
                yield low
        if not self._next("]"):
            raise UnsupportedPattern(f"The pattern {self.pattern!r} does not close a class.")

    def _repeats(self) -> tuple[int, int]:
        """Read a repetition: the least and the most times."""
        counted = re.compile(r"\{(\d+)(,?)(\d*)\}").match(self.pattern, self.at)
        least, most = 1, 1
        if counted:
            self.at = counted.end()
            least = int(counted[1])
            most = int(counted[3]) if counted[3] else least + _MORE if counted[2] else least
        elif self._next("*"):
            least, most = 0, _MORE
        elif self._next("+"):
            least, most = 1, 1 + _MORE
        elif self._next("?"):
            least, most = 0, 1
        else:
            return 1, 1
        self._next("?")
        return least, min(most, least + _MORE)
