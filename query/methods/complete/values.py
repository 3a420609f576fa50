"""Typed values of the cells of a column: exact numbers with a unit, and dates.

What the separators of a number mean follows from the whole column: 1.234 beside 0,5 is more than a thousand. If it does
not follow (a column of 1.234 and 5.678), the column has no numbers, so that no sum of it can be wrong.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import regex
from conspectus.query.methods.complete.question_words import keys_of, month_numbers
from conspectus.storage.text.literals import parse_literal

_MISSING = frozenset(("", "-", "–", "—", "?", "n/a", "na", "nan", "null", "none", "k.a.", "n.d.", "s.o."))
"""Cells that stand for a missing value, in lower case."""
_BLANKS = "'’\u00a0\u202f "
_NO_BLANKS = dict.fromkeys(map(ord, _BLANKS))
_AMOUNT = regex.compile(
    rf"""(?P<bracket>\()? (?P<sign>[-+−])? \s* (?P<before>\p{{Sc}}|[A-Z]{{3}})? \s* (?P<sign2>[-−])?
    (?P<body>\d[\d.,{_BLANKS}]*(?<=\d)) \s* (?P<unit>%|°?\p{{L}}[\p{{L}}²³/]{{0,11}}|\p{{Sc}})? (?(bracket)\))""",
    regex.X,
)
_BLANK_GROUPS = regex.compile(rf"\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+(?:[.,]\d+)?")
_GROUPS = {mark: regex.compile(rf"\d{{1,3}}(?:\{mark}\d{{3}})+") for mark in ".,"}
_DECIMALS = {mark: regex.compile(rf"\d*(?:\{mark}\d+)?") for mark in ".,"}
_SLASHES = regex.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{2}|\d{4})")
_MONTHS_OF_A_YEAR = 12
_KOREAN = str.maketrans("년월일", "年月日")
_LETTERS = regex.compile(r"\p{L}{3,}")


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for a missing value.

    >>> is_missing("n/a"), is_missing("0")
    (True, False)
    """
    return cell.strip().casefold() in _MISSING


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a column.

    Attributes:
        of: The number of each distinct cell, None for a missing value.
        unit: Their unit as it is written; "" for none.
        decimal: The decimal mark.
        thousands: The mark between thousands, "" if the column has none.
        places: The most digits after the decimal mark.
    """

    of: tuple[Decimal | None, ...]
    unit: str
    decimal: str
    thousands: str
    places: int

    def written(self, number: Decimal, places: int | None = None) -> str:
        """Return a number in the form of the column; with `places`, rounded to as many.

        >>> numbers_of(["1.234,50", "7,00"]).written(Decimal("98765.5"))
        '98.765,50'
        """
        text = f"{number:,.{self.places if places is None else places}f}"
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})


@dataclass(frozen=True, slots=True)
class Amount:
    """A number as it is written: digits with marks, sign, unit, and which of the marks can be the decimal one."""

    body: str
    negative: bool
    unit: str
    marks: str


def numbers_of(cells: Sequence[str]) -> Numbers | None:
    """Return the numbers of the distinct cells of a column; None if not all cells are numbers of one unit.

    >>> numbers_of(["1.234", "0,5"]).of, numbers_of(["1.234", "5.678"]), numbers_of(["3 kg", "4 EUR"])
    ((Decimal('1234'), Decimal('0.5')), None, None)
    """
    return numbers_of_columns([cells])[0]


def numbers_of_columns(columns: Iterable[Sequence[str]]) -> tuple[Numbers | None, ...]:
    """Return the numbers of each column of a table; where the decimal mark is not clear, it is that of the others."""
    amounts = [_amounts(cells) for cells in columns]
    clear = {marks for each in amounts if each and len(marks := _decimal_marks(each)) == 1}
    of_table = min(clear) if len(clear) == 1 else ""
    return tuple(None if each is None else _numbers(each, of_table) for each in amounts)


def _amounts(cells: Iterable[str]) -> list[Amount | None] | None:
    """Return the number of each cell, None for a missing value; None if a cell is something else."""
    found: list[Amount | None] = []
    for cell in cells:
        amount = _amount(cell)
        if amount is None and not is_missing(cell):
            return None
        found.append(amount)
    return found


def _decimal_marks(amounts: Iterable[Amount | None]) -> str:
    return "".join(mark for mark in ".," if all(mark in amount.marks for amount in amounts if amount))


def _numbers(amounts: Sequence[Amount | None], of_table: str) -> Numbers | None:
    read = [amount for amount in amounts if amount is not None]
    units = {_unit_key(amount.unit) for amount in read if amount.unit or amount.body.strip("0.,")}
    decimal = _decimal_mark(read, of_table)
    if not read or not decimal or len(units) > 1:
        return None
    numbers = tuple(None if amount is None else _number(amount, decimal) for amount in amounts)
    blank = next((mark for mark in _BLANKS if any(mark in amount.body for amount in read)), "")
    other = "," if decimal == "." else "."
    thousands = blank or (other if any(other in amount.body for amount in read) else "")
    places = max(len(amount.body.partition(decimal)[2]) for amount in read)
    return Numbers(numbers, next((amount.unit for amount in read if amount.unit), ""), decimal, thousands, places)


def number_in(text: str, decimal: str) -> Decimal | None:
    """Return the number of a question, with a decimal mark where its separators leave that open.

    >>> number_in("1.500 €", ","), number_in("12.5", ",")
    (Decimal('1500'), Decimal('12.5'))
    """
    amount = _amount(text)
    return None if amount is None else _number(amount, decimal if decimal in amount.marks else amount.marks)


def unit_of(text: str) -> str:
    """Return the unit of a number in a form in which equal units are equal.

    >>> unit_of("500 €") == unit_of("EUR 12"), unit_of("3 kg") == unit_of("3 g"), unit_of("7")
    (True, False, '')
    """
    amount = _amount(text)
    return _unit_key(amount.unit) if amount else ""


def _amount(cell: str) -> Amount | None:
    """Return the parts of a number, None if the cell is something else: 007 and 0049 are no numbers."""
    found = _AMOUNT.fullmatch(cell.strip())
    if found is None or (found["before"] and found["unit"]):
        return None
    body, marks = found["body"], ""
    plain = body.translate(_NO_BLANKS)
    if plain != body and not _BLANK_GROUPS.fullmatch(body):
        return None
    if plain[0] == "0" and plain[1:2].isdigit():
        return None
    for mark, other in ((".", ","), (",", ".")):
        whole, point, _ = plain.rpartition(mark)
        grouped = whole if point else plain
        if (_DECIMALS[mark].fullmatch(plain) and not (plain != body and other in plain)) or (
            plain == body and other in grouped and _GROUPS[other].fullmatch(grouped) and grouped[0] != "0"
        ):
            marks += mark
    if not marks:
        return None
    negative = bool(found["bracket"] or found["sign"] in ("-", "−") or found["sign2"])
    return Amount(body, negative, found["before"] or found["unit"] or "", marks)


def _decimal_mark(amounts: Sequence[Amount], of_table: str) -> str:
    """Return the decimal mark of a column; "" if there is none, or if it is not clear."""
    marks = _decimal_marks(amounts)
    if len(marks) < 2:
        return marks
    used = {sign for amount in amounts for sign in amount.body if sign in ".,"}
    if not used or of_table in (".", ","):
        return of_table or "."
    plain = [len(amount.body) for amount in amounts if used.isdisjoint(amount.body)]
    # Small numbers without a mark beside large ones with one: the mark divides thousands.
    return ("," if used == {"."} else ".") if max(plain, default=0) == 3 else ""


def _number(amount: Amount, decimal: str) -> Decimal:
    plain = amount.body.translate(_NO_BLANKS).replace("." if decimal == "," else ",", "").replace(",", ".")
    return -Decimal(plain) if amount.negative else Decimal(plain)


def units_of(name: str, numbers: Numbers | None) -> set[str]:
    """Return the units of a column: of its numbers, and those that its name has."""
    named = regex.split(r"[\s()\[\]（）,_/]+", name)
    units = {unit_of(f"1 {word}") for word in named if word and parse_literal(f"1 {word}")}
    return units | ({unit_of(f"1 {numbers.unit}")} if numbers and numbers.unit else set())


@lru_cache(1_000)
def _unit_key(unit: str) -> str:
    literal = parse_literal(f"1 {unit}") if unit else None
    return f"{literal.low} {literal.unit or literal.kind}" if literal else unit.casefold()


Days = tuple[int, int]
"""The first and the last day of a date: equal, unless it is a month or a year."""


def days_of(cells: Sequence[str]) -> tuple[Days | None, ...] | None:
    """Return the days of the distinct cells of a column; None if a cell is no date, or day and month are not clear.

    Args:
        cells: The distinct cells.

    >>> days_of(["03/04/2024", "25/04/2024"])[0] == days_of(["2024-04-03"])[0], days_of(["03/04/2024"])
    (True, None)
    """
    slashes = [found for cell in cells if (found := _SLASHES.fullmatch(cell.strip()))]
    day_first = any(int(found[1]) > _MONTHS_OF_A_YEAR or "." in found[0] for found in slashes)
    month_first = any(int(found[2]) > _MONTHS_OF_A_YEAR for found in slashes)
    days: list[Days | None] = []
    for cell in cells:
        text = cell.strip()
        if (found := _SLASHES.fullmatch(text)) and day_first != month_first:
            day, month = (found[1], found[2]) if day_first else (found[2], found[1])
            year = found[3] if len(found[3]) == 4 else f"20{found[3]}"
            text = f"{year}-{month:0>2}-{day:0>2}"
        date = None if is_missing(text) else day_of(text)
        if date is None and not is_missing(text):
            return None
        days.append(date)
    return tuple(days) if any(days) else None


def day_of(text: str) -> Days | None:
    """Return the days of a date in words or numbers; None if the text is no date.

    >>> day_of("4. März 2024") == day_of("2024-03-04") == day_of("4 марта 2024"), day_of("1250")
    (True, None)
    """
    if not text.isascii():
        text = text.translate(_KOREAN)
    literal = parse_literal(_LETTERS.sub(lambda word: month_numbers().get(" ".join(keys_of(word[0])), word[0]), text))
    return (int(literal.low), int(literal.high)) if literal and literal.kind == "time" else None
