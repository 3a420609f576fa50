"""Turn a reading into an answer with its triples: entities, a number, yes or no, or the reason for declining."""

from dataclasses import replace

from conspectus.query.answering import Assembly
from conspectus.query.citations.marks import BEST_EFFORT
from conspectus.query.context import Context
from conspectus.query.graph_question.candidates import Candidate
from conspectus.query.graph_question.meanings import Predicates, open_predicates
from conspectus.query.graph_question.reader import GraphReading
from conspectus.query.graph_question.translation import answer_word
from conspectus.query.types import Answer, Evidence, Step
from conspectus.query.types.trace import Considered, Decision
from conspectus.query.walk.graph import open_graph, spoken
from conspectus.query.walk.passages import unanswered
from conspectus.query.walk.provenance import answer_by_triples

_CITED = 30
"""Maximum number of triples that an answer cites."""
_LISTED = 50
"""Maximum number of names in the text of an answer; `Answer.names` has all."""
_SHOWN = 5
"""Number of candidates shown in a trace."""


def answer_of(assembly: Assembly, context: Context, reading: GraphReading, evidence: Evidence | None = None) -> Answer:
    """Return the answer of a reading, or the standard "no answer" sentence with the reason.

    Args:
        assembly: Assembles the answer; the steps of the reading are added to its trace.
        context: The open index.
        reading: The reading.
        evidence: Passages or a subgraph found in addition.
    """
    assembly.add(*steps_of(context, reading))
    found = reading.answer
    if not (reading.answered or reading.best_effort) or found is None:
        nothing = unanswered(context, assembly.question)
        return assembly.assemble(f"{nothing} {_sentence(reading.declined)}", evidence=evidence)
    relations = found.relations[:_CITED]
    text, names = said(context, reading)
    assembly.depth = len(reading.best.steps) if reading.best else 0
    answer = answer_by_triples(assembly, context, text, relations, names=names, evidence=evidence, computed=True)
    doubt = f" {BEST_EFFORT} {_sentence(reading.declined)}" if reading.best_effort else ""
    return replace(answer, text=f"{answer.text}{doubt}")


def said(context: Context, reading: GraphReading) -> tuple[str, tuple[str, ...]]:
    """Return the text of a reading's answer and the names in it; both are empty if there is no answer."""
    graph, found = open_graph(context), reading.answer
    if found is None:
        return "", ()
    if found.properties:
        return ", ".join(found.properties), found.properties
    names = tuple(graph.names[each.entity] for each in found.found)
    listed = ", ".join(
        spoken(name) + (f" ({each.value})" if each.value and each.value != name else "")
        for name, each in zip(names[:_LISTED], found.found, strict=False)
    )
    if len(names) > _LISTED:
        listed += f" ({_LISTED} of {len(names):,})"
    query = reading.query
    if query is None or query.form in ("things", "compare"):
        return listed, names
    if query.form == "count":
        return f"{found.count}: {listed}" if names else str(found.count), (str(found.count),)
    verdict = "yes" if found.verdict else "no"
    translation = reading.asked.translation
    return f"{answer_word(verdict, translation.language if translation else '')}.", (verdict,)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def steps_of(context: Context, reading: GraphReading) -> tuple[Step, ...]:
    """Return the trace steps of a reading: the entities named, the kind of answer, and the best candidates."""
    predicates = open_predicates(context)
    asked, graph = reading.asked, predicates.graph
    named = "; ".join(
        f"{' '.join(asked.surface(place) for place in sorted(mention.places)) or 'given'}: "
        + ", ".join(spoken(graph.names[row]) for row in mention.rows)
        for mention in reading.mentions
    )
    kind = f"{asked.form}{f', a {asked.kind}' if asked.kind else ''}"
    best = "; ".join(
        f"{candidate.score:.2f} {in_words(predicates, candidate)}" for candidate in reading.candidates[:_SHOWN]
    )
    translation = asked.translation
    found = (
        *([Step("language", translation.told())] if translation else []),
        Step("named", named or "nothing of the graph"),
        Step("asked", kind),
        Step("candidates", best or "none"),
        Step("confidence", f"{reading.probability:.0%} that the first candidate is right"),
    )
    return (*found, Step("declined", reading.declined)) if reading.declined else found


def in_words(predicates: Predicates, candidate: Candidate) -> str:
    """Return a candidate as text: its paths, each from its start entity."""
    graph = predicates.graph

    def step(each: tuple[int, bool]) -> str:
        words = predicates.texts[each[0]] or "related to"
        return f"-[{words}]->" if each[1] else f"<-[{words}]-"

    paths = [" ".join([spoken(graph.names[leg.start]), *map(step, leg.steps)]) for leg in candidate.legs]
    if candidate.members >= 0:
        side = "objects" if candidate.members % 2 else "subjects"
        paths.append(f"all {side} of {predicates.texts[candidate.members // 2]}")
    said = " and ".join(paths) + "".join(f" then {step(each)}" for each in candidate.tail)
    if candidate.subjects:
        said = f"{', '.join(spoken(graph.names[row]) for _, row in candidate.subjects)}: {said}"
    if candidate.literal:
        by = predicates.texts[candidate.literal.step[0]] if candidate.literal.step else "the year in the name"
        said += f", by {by}"
    return said


def decision_of(context: Context, reading: GraphReading) -> Decision:
    """Return the choice of the best candidate as a decision of a walk."""
    predicates = open_predicates(context)
    considered = tuple(
        Considered(in_words(predicates, candidate), candidate is reading.best and reading.answered, "", candidate.score)
        for candidate in reading.candidates[:_SHOWN]
    )
    starts = reading.best.legs if reading.best else ()
    at = ", ".join(dict.fromkeys(spoken(predicates.graph.names[leg.start]) for leg in starts))
    return Decision("candidates", 0, at or "nothing", considered, reading.declined or "answered")
