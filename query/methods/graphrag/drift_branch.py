"""One step of DRIFT: what a model says of one window towards an answer, and what should be asked next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.map_step import Note
from conspectus.query.reader.material import Unit, sources
from pydantic import BaseModel, ConfigDict, Field


class Said(BaseModel):
    """One point of an answer, with the numbers of what it rests on."""

    model_config = ConfigDict(frozen=True)

    text: str
    sources: list[int]


class Reply(BaseModel):
    """What a model is to reply: see prompts/query/drift_primer.txt and drift_follow_up.txt."""

    model_config = ConfigDict(frozen=True)

    answer: list[Said]
    score: int = Field(ge=0, le=100)
    follow_ups: list[str] = []


@dataclass(frozen=True, slots=True)
class Branch:
    """What one call gave: notes that carry the units they rest on, and follow-up questions, the most useful first.

    `score`, 0 to 100, is how far the notes answer the whole question; a branch of score 0 has no notes. `baseless`
    counts points that rest on nothing that was shown, `dropped` the numbers that named nothing.
    """

    score: int
    notes: tuple[Note, ...]
    follow_ups: tuple[str, ...]
    units: tuple[Unit, ...]
    n_tokens: int
    baseless: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks a model for branches."""

    context: Context
    model: LanguageModel

    async def branch(
        self, prompt: str, step: str, units: Sequence[Unit], n_tokens: int, places: Mapping[str, str]
    ) -> Branch:
        """Return the branch of a prompt whose material is `units`, unit i under the number i + 1.

        One call, and one more where the reply is not of the form asked for. Raises ModelError where that one is
        not either, or there is none.
        """
        most = self.context.settings.drift_search.follow_ups
        message = Message("user", render(prompt, follow_ups=str(most), **places))
        reply = await ask_for(self.model, Request((message,), step, sources=sources(self.context, units)), Reply)
        notes: list[Note] = []
        baseless = dropped = 0
        for point in reply.answer:
            numbers = dict.fromkeys(point.sources)
            named = tuple(units[each - 1] for each in numbers if 1 <= each <= len(units))
            text = " ".join(point.text.split())
            dropped += len(numbers) - len(named)
            baseless += not (named and text)
            if named and text and reply.score:
                notes.append(Note(text, reply.score, named))
        follow_ups = tuple(cleaned for each in reply.follow_ups if (cleaned := " ".join(each.split())))
        return Branch(reply.score, tuple(notes), follow_ups, tuple(units), n_tokens, baseless, dropped)
