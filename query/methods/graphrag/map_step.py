"""The map step of global search: a model extracts scored notes from each window (Edge et al. 2024, section 3.1.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.prose import Score
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.answer_writing.context_windows import ScoredUnit, Unit, Window, cut_tokens, sources
from conspectus.query.citations.forms import Numbers, marks_in
from conspectus.query.context import Context
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.text.tokens import count_tokens
from pydantic import BaseModel, ConfigDict, Field

STEP = "map"
_MAP_WORDS = 500
"""Length of the notes requested for one window."""
_PROSE_SCORE = 50
"""Score of a point that a model wrote without one: the middle of the scale."""


class Point(BaseModel):
    """One point that helps to answer the question, according to a model: see prompts/query/graphrag/global_map.txt."""

    model_config = ConfigDict(frozen=True)

    description: str
    score: Score = Field(ge=0, le=100)
    numbers: Numbers = []


class Points(BaseModel):
    """The reply for one window."""

    points: list[Point]


@dataclass(frozen=True, slots=True)
class Note:
    """A point with its supporting units; `score` is its helpfulness, 1 to 100."""

    text: str
    score: int
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of all windows, most helpful first.

    Attributes:
        notes: The notes.
        unhelpful: The number of points with score zero.
        baseless: The number of points that cite nothing in their window.
        dropped: The number of cited numbers that do not resolve.
        cut_off: The number of replies that ended early; their complete points count.
        failures: The errors of calls without a usable reply.
    """

    notes: tuple[Note, ...]
    unhelpful: int = 0
    baseless: int = 0
    dropped: int = 0
    cut_off: int = 0
    failures: tuple[ModelError, ...] = ()


async def take_notes(context: Context, model: LanguageModel, question: str, windows: Sequence[Window]) -> Notes:
    """Return the notes of all windows, one call per window, in parallel.

    Raises:
        ModelError: Every call fails, or none gives a note that names a report or passage of its window.
    """
    replies = await gather_settled(_points(context, model, question, window) for window in windows)
    failures = tuple(reply for reply in replies if isinstance(reply, ModelError))
    notes: list[Note] = []
    unhelpful = baseless = dropped = cut_off = 0
    for window, reply in zip(windows, replies, strict=True):
        if isinstance(reply, ModelError):
            continue
        points, whole = reply
        cut_off += not whole
        for point in points.points:
            text, cited = _told(point)
            numbers = dict.fromkeys([*point.numbers, *cited])
            units = tuple(window.units[number - 1] for number in numbers if 1 <= number <= len(window.units))
            dropped += len(numbers) - len(units)
            if not point.score or not text:
                unhelpful += 1
            elif not units:
                baseless += 1
            else:
                notes.append(Note(text, point.score, units))
    if failures and len(failures) == len(windows):
        raise failures[0]
    if not notes and (failures or baseless):
        raise BadAnswer(f"{baseless} notes name no report or passage of their window", "")
    notes.sort(key=lambda note: (-note.score, note.text))
    return Notes(tuple(notes), unhelpful, baseless, dropped, cut_off, failures)


def _told(point: Point) -> tuple[str, list[int]]:
    """Return the text of a point without marks, and the numbers in these: models insert [Data: Reports (1)]."""
    parts, cited, at = [], list[int](), 0
    for mark in marks_in(point.description, shown=0):
        parts.append(point.description[at : mark.start])
        cited += mark.numbers
        at = mark.end
    return " ".join("".join([*parts, point.description[at:]]).split()), cited


async def _points(context: Context, model: LanguageModel, question: str, window: Window) -> tuple[Points, bool]:
    """Return the points of a window, and whether the reply is complete."""
    passages = window.units[0].table == "chunks"
    given = {"question": question, "words": str(_MAP_WORDS), "passages" if passages else "reports": window.text}
    asked = messages(f"query/graphrag/global_map{'_passages' if passages else ''}", **given)
    try:
        request = Request(asked, STEP, sources=sources(context, window.units))
        return await ask_for(model, request, Points), True
    except BadAnswer as bad:
        if isinstance(bad.salvaged, Points) and bad.salvaged.points:
            return bad.salvaged, False
        if points := _in_prose(bad.raw):
            return points, True
        raise


def _in_prose(reply: str) -> Points | None:
    """Return the lines of a reply in prose that cite something, as points of middling score; None if none does.

    Small models answer the question with marks instead of listing points.
    """
    lines = [line.strip().lstrip("-*• ") for line in reply.splitlines() if any(marks_in(line, shown=0))]
    return Points(points=[Point(description=line, score=_PROSE_SCORE) for line in lines]) if lines else None


@dataclass(frozen=True, slots=True)
class Material:
    """Notes as one text within a token limit, in which unit i has the number i + 1."""

    text: str
    n_tokens: int
    notes: tuple[Note, ...]
    units: tuple[Unit, ...]

    def told(self, n_notes: int) -> str:
        """Return how many of the notes it holds, for the trace."""
        held = f"{len(self.notes)} of {n_notes} notes on {len(self.units)} reports or passages, {self.n_tokens} tokens"
        return held if self.notes else "nothing helps to answer"

    def scored(self) -> list[ScoredUnit]:
        """Return the units with the score of their best note, best first."""
        best: dict[str, int] = {}
        for note in self.notes:
            for unit in note.units:
                best[unit.id] = max(best.get(unit.id, 0), note.score)
        scored = [ScoredUnit(unit, best[unit.id]) for unit in self.units]
        return sorted(scored, key=lambda scored_unit: (-scored_unit.score, scored_unit.unit.id))


def material_of(notes: Sequence[Note], limit: int) -> Material:
    """Return the first notes that fit into `limit` tokens, each with its score and the numbers of its units.

    Units are numbered in the order in which notes cite them. If the first note does not fit, it is cut.
    """
    numbers: dict[str, int] = {}
    units: list[Unit] = []
    lines: list[str] = []
    used = 0
    for note in notes:
        fresh = [unit for unit in note.units if unit.id not in numbers]
        known = {**numbers, **{unit.id: len(units) + place for place, unit in enumerate(fresh, start=1)}}
        marks = "".join(f"[{known[unit.id]}]" for unit in note.units)
        begin = f"- (score {note.score})"
        line = f"{begin} {note.text} {marks}"
        tokens = count_tokens(line)
        if used + tokens > limit:
            if lines:
                break
            line = f"{begin} {cut_tokens(note.text, limit - count_tokens(f'{begin} {marks}'))} {marks}"
            tokens = count_tokens(line)
        lines.append(line)
        used += tokens
        numbers = known
        units += fresh
    return Material("\n".join(lines), used, tuple(notes[: len(lines)]), tuple(units))
