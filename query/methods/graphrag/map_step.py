"""The map of a map-reduce: notes that a model takes of one window, each scored and with what it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.reader.material import ScoredUnit, Unit, Window, cut, sources
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.text.tokens import count_tokens
from pydantic import BaseModel, ConfigDict, Field

STEP = "map"


class Point(BaseModel):
    """One thing that a model says helps to answer: see prompts/query/global_map.txt."""

    model_config = ConfigDict(frozen=True)

    description: str
    score: int = Field(ge=0, le=100)
    reports: list[int]


class Points(BaseModel):
    """All that it says of one window."""

    points: list[Point]


@dataclass(frozen=True, slots=True)
class Note:
    """A point with the units that it rests on; `score` is its helpfulness, 1 to 100."""

    text: str
    score: int
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of all windows, most helpful first.

    `unhelpful` counts points of score zero, `baseless` those that name no report of their window, `dropped` the numbers
    that name none, `cut_off` replies of which only a part came, and `failures` are the calls that gave nothing.
    """

    notes: tuple[Note, ...]
    unhelpful: int = 0
    baseless: int = 0
    dropped: int = 0
    cut_off: int = 0
    failures: tuple[ModelError, ...] = ()


async def take_notes(context: Context, model: LanguageModel, question: str, windows: Sequence[Window]) -> Notes:
    """Return the notes of all windows, which are read in parallel; ModelError where every call fails."""
    replies = await gather_settled(_points(context, model, question, each) for each in windows)
    failures = tuple(each for each in replies if isinstance(each, ModelError))
    if failures and len(failures) == len(windows):
        raise failures[0]
    notes: list[Note] = []
    unhelpful = baseless = dropped = cut_off = 0
    for window, reply in zip(windows, replies, strict=True):
        if isinstance(reply, ModelError):
            continue
        points, whole = reply
        cut_off += not whole
        for point in points.points:
            numbers = dict.fromkeys(point.reports)
            units = tuple(window.units[each - 1] for each in numbers if 1 <= each <= len(window.units))
            text = " ".join(point.description.split())
            dropped += len(numbers) - len(units)
            if not point.score or not text:
                unhelpful += 1
            elif not units:
                baseless += 1
            else:
                notes.append(Note(text, point.score, units))
    notes.sort(key=lambda each: (-each.score, each.text))
    return Notes(tuple(notes), unhelpful, baseless, dropped, cut_off, failures)


async def _points(context: Context, model: LanguageModel, question: str, window: Window) -> tuple[Points, bool]:
    """Return the points of a window, and whether that is all of them."""
    most = str(context.settings.global_search.map_words)
    message = Message("user", render("query/global_map", reports=window.text, question=question, words=most))
    try:
        request = Request((message,), STEP, sources=sources(context, window.units))
        return await ask_for(model, request, Points), True
    except BadAnswer as bad:
        if isinstance(bad.salvaged, Points) and bad.salvaged.points:
            return bad.salvaged, False
        raise


@dataclass(frozen=True, slots=True)
class Material:
    """Notes as one text within a token limit, in which unit i is cited as i + 1."""

    text: str
    n_tokens: int
    notes: tuple[Note, ...]
    units: tuple[Unit, ...]

    def scored(self) -> list[ScoredUnit]:
        """Return the units with the score of the best note on each, best first."""
        best: dict[str, int] = {}
        for note in self.notes:
            for unit in note.units:
                best[unit.id] = max(best.get(unit.id, 0), note.score)
        scored = [ScoredUnit(each, best[each.id]) for each in self.units]
        return sorted(scored, key=lambda each: (-each.score, each.unit.id))


def material_of(notes: Sequence[Note], limit: int) -> Material:
    """Return the first notes that `limit` tokens hold together, each with the numbers of its units behind it.

    The numbers are given in the order in which units are first named; a first note that is too long is cut.
    """
    numbers: dict[str, int] = {}
    units: list[Unit] = []
    lines: list[str] = []
    used = 0
    for note in notes:
        fresh = [each for each in note.units if each.id not in numbers]
        known = {**numbers, **{each.id: len(units) + place for place, each in enumerate(fresh, start=1)}}
        marks = "".join(f"[{known[each.id]}]" for each in note.units)
        line = f"- {note.text} {marks}"
        tokens = count_tokens(line)
        if used + tokens > limit:
            if lines:
                break
            line = f"- {cut(note.text, limit - count_tokens(f'- {marks}'))} {marks}"
            tokens = count_tokens(line)
        lines.append(line)
        used += tokens
        numbers = known
        units += fresh
    return Material("\n".join(lines), used, tuple(notes[: len(lines)]), tuple(units))
