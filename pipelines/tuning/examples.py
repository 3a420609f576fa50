"""Few-shot extraction examples that a model writes for corpus texts, each validated by our own parser.

Examples are written from the parsed records, so that their format is right whatever the reply looked like, and only
from records that follow the rules that the examples teach.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from conspectus.pipelines.steps.extract.llm import ShownChunk
from conspectus.pipelines.steps.extract.validate import flaw, name_key
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.prompts.replies.records import EntityRecord, Record, Records, is_writable, read_records, write_records
from conspectus.storage.errors import ModelError

STEP = "tune"

_DATE = re.compile(r"\d{4}(-\d\d){0,2}")
_STATUS = ("TRUE", "FALSE", "SUSPECTED")


@dataclass(frozen=True, slots=True)
class ExampleDraft:
    """The result for one text: the records of an example, none if it failed.

    `thrown_away` gives the reasons for rejected replies; `left_out` counts records of the accepted reply that break
    the rules.
    """

    shown: ShownChunk
    records: Records | None
    thrown_away: tuple[str, ...] = ()
    left_out: int = 0


Checked = Callable[[Records], Records]
"""Returns the records that an example may contain."""


async def make_example(
    model: LanguageModel, shown: ShownChunk, prompt: tuple[Message, ...], checked: Checked
) -> ExampleDraft:
    """Return the example that a model writes for a text; an unusable reply is retried once.

    Raises:
        BudgetReached: The budget is spent. Other failures are reported in the result.
    """
    asked = prompt
    thrown_away: list[str] = []
    for _ in range(2):
        try:
            reply = await model.complete(Request(asked, STEP))
        except ModelError as error:
            return ExampleDraft(shown, None, (*thrown_away, str(error)))
        read = read_records(reply.text, cut_off=reply.is_cut_off)
        kept = checked(read)
        reason = _unusable(read, kept)
        if not reason:
            return ExampleDraft(shown, kept, tuple(thrown_away), _size(read) - _size(kept))
        thrown_away.append(reason)
        again = Message("user", render("index/tune_again", reason=reason))
        # Many servers refuse a conversation with an empty reply.
        said = (Message("assistant", reply.text),) if reply.text.strip() else ()
        asked = (*prompt, *said, again)
    return ExampleDraft(shown, None, tuple(thrown_away))


def _unusable(read: Records, kept: Records) -> str:
    if read.lost:
        lost = read.lost[0]
        return f"{lost.reason}: {lost.text}" if lost.text else lost.reason
    if not _size(read):
        return "there is no record"
    return "" if kept.entities or kept.claims else "no record is about something that the text names"


def elements_in(shown: ShownChunk, types: Sequence[str]) -> Checked:
    """Return a filter for entities of given types that text or title name, and relationships between them.

    A relationship without a predicate would teach that it needs none.
    """
    spelt = {kind.casefold(): kind for kind in types}
    held = _plain(f"{shown.title}\n{shown.text}")

    def checked(read: Records) -> Records:
        entities: dict[str, EntityRecord] = {}
        for entity in read.entities:
            kind = spelt.get(entity.type.casefold())
            if kind and entity.description and _plain(entity.name) in held and _fits(entity):
                entities.setdefault(name_key(entity.name), replace(entity, type=kind))
        relations = []
        for relation in read.relations:
            source, target = entities.get(name_key(relation.source)), entities.get(name_key(relation.target))
            said = relation.predicate and relation.description and 1 <= (relation.strength or 0) <= 10
            if source and target and said and _fits(relation):
                relations.append(replace(relation, source=source.name, target=target.name))
        return Records(tuple(entities.values()), tuple(relations))

    return checked


def claims_in(shown: ShownChunk) -> Checked:
    """Return a filter for claims about entities that text or title name, and that quote the text."""
    held, titled = _plain(shown.text), _plain(f"{shown.title}\n{shown.text}")

    def checked(read: Records) -> Records:
        kept = []
        for item in read.claims:
            claim = replace(item, status=item.status.upper())
            dates = [date for date in (claim.start_date, claim.end_date) if date]
            quoted = claim.quote is not None and _plain(claim.quote) in held
            named = all(_plain(name) in titled for name in (claim.subject, claim.object) if name)
            if quoted and named and claim.type and claim.status in _STATUS and all(map(_DATE.fullmatch, dates)):
                kept.append(claim)
        return Records(claims=tuple(row for row in kept if _fits(row)))

    return checked


def written(made: Sequence[ExampleDraft], types: Sequence[str]) -> str:
    """Return the examples of entities and relationships in the format of the prompt."""
    return _written("index/tuned_example", made, entity_types=", ".join(types))


def written_claims(made: Sequence[ExampleDraft]) -> str:
    """Return the examples of claims in the format of the prompt."""
    return _written("index/tuned_claims_example", made)


def _written(template: str, made: Sequence[ExampleDraft], **values: str) -> str:
    kept = [(each.shown, write_records(each.records)) for each in made if each.records is not None]
    return "\n\n".join(
        render(template, number=str(number), text=shown.text, records=records, **shown.place, **values)
        for number, (shown, records) in enumerate(kept, 1)
    )


def can_be_shown(text: str) -> bool:
    """Return whether a text contains no delimiters of records, so that it can be used in an example."""
    return "<|" not in text and "|>" not in text


def _size(records: Records) -> int:
    return len(records.entities) + len(records.relations) + len(records.claims)


def _fits(record: Record) -> bool:
    return not flaw(record) and is_writable(record)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
