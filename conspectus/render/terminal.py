"""Common functions of text output: untrusted text made safe for a terminal, counted nouns, tables."""

from collections.abc import Sequence

from conspectus.storage.text.visible import visible

__all__ = ["aligned_table", "count", "duration", "one_line", "safe_lines", "visible"]


def one_line(text: str) -> str:
    """Return a text on one line, its control characters escaped.

    >>> one_line("two\\n  words")
    'two words'
    """
    return visible(" ".join(text.split()))


def safe_lines(text: str) -> str:
    """Return a text with its line breaks, all other control characters escaped."""
    return "\n".join(visible(line) for line in text.split("\n"))


def count(number: int, plural: str) -> str:
    """Return a number with its noun.

    >>> count(1, "entities"), count(2, "entities"), count(1, "reports")
    ('1 entity', '2 entities', '1 report')
    """
    if number != 1:
        return f"{number:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"


def duration(seconds: float) -> str:
    """Return seconds in readable units.

    >>> duration(7.26), duration(100), duration(7300)
    ('7.3 s', '1 min 40 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"


def aligned_table(head: Sequence[str], body: Sequence[Sequence[str]], numbers_from: int | None = None) -> list[str]:
    """Return the lines of a table with its header; columns from `numbers_from` on are aligned to the right.

    >>> print("\\n".join(aligned_table(["step", "calls"], [["embed", "12"]], 1)))
    step   calls
    -----  -----
    embed     12
    """
    rows = [head, *body]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    left = len(head) if numbers_from is None else numbers_from

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [line(head), "  ".join("-" * width for width in widths), *(line(row) for row in body)]
