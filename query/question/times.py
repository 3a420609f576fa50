"""The time that a question asks about: of the passages of one document, those with dates near it come first.

Dates tell apart the passages of a document, and hardly the documents: a question about a film of 1986 may be answered
where its director was born. So passages of one document exchange their places, with the scores of these, and no other
gains or loses one. A question without a date changes nothing.
"""

from collections import defaultdict
from datetime import date
from math import exp

import numpy as np
from conspectus.query.context import Context
from conspectus.query.types import Step
from conspectus.storage.arrays import Rows
from conspectus.storage.records import Document
from conspectus.storage.text.dates import Dated, date_of_document, dates_in

LEADING = 20
"""Passages that are ordered, the best: with 50 no more was found. Reading the dates of one takes 2 ms."""
TIME_WEIGHT = 10
"""Places among the passages of its document that a passage gains by dates that are those in the question. Chosen on
each half of TimeQA for the other: docs/dates.md."""


def time_in(text: str) -> Dated | None:
    """Return the interval from the first to the last day that a question names; None if it names none.

    >>> time = time_in("Who led it from May 1990 to 1993?")
    >>> time.first, time.last
    ('1990-05-01', '1993-12-31')
    """
    dates = dates_in(text)
    if not dates:
        return None
    first, last = min(each.first or "" for each in dates), max(each.last or "9999" for each in dates)
    return Dated(first or None, last if last != "9999" else None, dates[0].precision)


def in_time(context: Context, time: Dated | None, rows: Rows) -> Rows:
    """Return the places of passages, in order, when those of one document are ordered by place and nearness in time.

    Args:
        context: The index.
        time: The time that is asked about; None for none, and then the order stays.
        rows: (n,) their chunk rows, best first.
    """
    order = np.arange(len(rows))
    if time is None:
        return order
    chunks = [context.chunks[int(row)] for row in rows[:LEADING]]
    places = defaultdict[str, list[int]](list)
    for place, chunk in enumerate(chunks):
        places[chunk.document_id].append(place)
    for document_id, own in places.items():
        if len(own) > 1 and not _is_of(context, document_id, time):
            gains = {place: TIME_WEIGHT * nearness(time, chunks[place].text) - at for at, place in enumerate(own)}
            order[own] = sorted(own, key=lambda place: -gains[place])
    return order


def nearness(time: Dated, text: str) -> float:
    """Return how near the dates of a text are to a time, from 0 to 1: the mean of exp(-years) at its two ends.

    The years are those from its beginning to the nearest day on which something begins in the text, and from its end
    to the nearest on which something ends. What happens on a day begins and ends on it.

    >>> round(nearness(time_in("from 1990 to 1993"), "Mayor from 1990 to 1994. Born in 1951."), 2)
    0.68
    """
    dates = dates_in(text)
    ends = (time.first, [each.first for each in dates]), (time.last, [each.last for each in dates])
    near = [max((exp(-_years(day, each)) for each in days if each), default=0.0) for day, days in ends if day]
    return sum(near) / len(near)


def _is_of(context: Context, document_id: str, time: Dated) -> bool:
    """Return whether a document, such as the minutes of a day, is itself of a time, and with it all its passages."""
    document = context.index.each(Document)[context.index.ids(Document)[document_id]]
    own = date_of_document(document)
    return any(each.overlaps(time) for each in (*dates_in(document.title), *([own] if own else [])))


def time_steps(time: Dated | None) -> tuple[Step, ...]:
    """Return the step of a trace that tells the order in time; () if the question names no time."""
    if time is None:
        return ()
    when = " to ".join(filter(None, (time.first, time.last)))
    return (Step("time", f"passages of one document have exchanged places by how near their dates are to {when}"),)


def _years(day: str, other: str) -> float:
    return abs((date.fromisoformat(day) - date.fromisoformat(other)).days) / 365.25
