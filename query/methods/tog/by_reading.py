"""Walks without a language model: the readings of the question say where its paths lead.

The question is read as queries of the graph (`query/graph_question`), and the best one answers. ToG-2 also reads the
documents about what the paths of the best readings come to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from conspectus.query.answering import Assembly
from conspectus.query.context import Context
from conspectus.query.graph_question.answer import answer_of, decision_of
from conspectus.query.graph_question.candidates import Candidate, Leg
from conspectus.query.graph_question.mentions import EntityMention
from conspectus.query.graph_question.reader import GraphReading, read_graph_question
from conspectus.query.methods.tog.beam import CONTEXT_CHUNKS, BeamPath, chain_to, follow
from conspectus.query.methods.tog.evidence import WalkPassages, rank_texts, texts_of
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer, Evidence, Step, Topics
from conspectus.query.types.trace import Chain, WalkTrace
from conspectus.query.walk.graph import all_ids, open_graph, spoken
from conspectus.query.walk.passages import has_documents

_READINGS = 40
"""Number of best readings whose paths a walk may follow."""
_UNMATCHED = 0.5
"""A word explained by a path to a smaller degree is part of the clue."""


def read_from_topics(
    context: Context, question: str, given: Sequence[str] | None = None, step: str = "topics"
) -> tuple[GraphReading, Topics]:
    """Return the reading of a question, and the topics where it starts.

    Args:
        context: The open index.
        question: The question.
        given: Names of the things that it is about; None to find them in its words.
        step: The name of the step of the trace that tells the topics.
    """
    topics = find_topics(context, question, given, step=step) if given is not None else None
    reading = read_graph_question(context, question, topics.rows if topics else None)
    if topics:
        return reading, topics
    starts = tuple(dict.fromkeys(leg.start for leg in reading.best.legs)) if reading.best else ()
    names = ", ".join(spoken(open_graph(context).names[row]) for row in starts)
    return reading, Topics(starts, Step(step, f"{names or 'nothing'} of the graph is named"))


def answer_by_reading(
    assembly: Assembly, context: Context, given: Sequence[str] | None, step: str = "topics"
) -> Answer:
    """Return the answer of the best reading of a question, with its paths as the walk; arguments as above."""
    reading, topics = read_from_topics(context, assembly.question, given, step)
    assembly.add(topics.step)
    return answer_of(assembly, context, reading, Evidence(walk=walk_of(context, reading)))


def walk_of(context: Context, reading: GraphReading) -> WalkTrace:
    """Return the choice of a reading, and its paths if it answers."""
    return WalkTrace((decision_of(context, reading),), chains_of(context, reading) if reading.answered else ())


def chains_of(context: Context, reading: GraphReading) -> tuple[Chain, ...]:
    """Return the paths of the best candidate of a reading, each to a thing that it reaches."""
    graph, legs = open_graph(context), reading.best.legs if reading.best else ()
    paths = (follow(graph, leg.start, leg.steps) for leg in legs)
    return tuple(chain_to(path, int(path.entities[0])) for path in paths if path.relations)


@dataclass(slots=True, eq=False)
class ReadingWalk:
    """Reads the documents along the paths of the best readings. `visited` are the paths, shorter ones first."""

    context: Context
    question: str
    reading: GraphReading
    topics: Sequence[int]
    visited: list[BeamPath] = field(default_factory=list)
    passages: WalkPassages = field(init=False)

    def __post_init__(self) -> None:
        self.passages = WalkPassages(self.context, self.question)
        if has_documents(self.context):
            self.passages.of_topics(self.topics, CONTEXT_CHUNKS)
            self._walk()

    def _walk(self) -> None:
        settings, query = self.context.settings.tog, self.question
        scorer = "embedding" if settings.scorer == "model" else settings.scorer
        for depth in range(1, settings.depth + 1):
            paths = self._paths(depth)
            if not paths:
                break
            texts = texts_of(self.context, query, paths, max(CONTEXT_CHUNKS, len(paths)))
            self.passages.add(rank_texts(self.context, query, texts, scorer))
            self.visited += paths
            if settings.clue:
                query = f"{self.question} {self.clue(paths[0])}".strip()

    def _paths(self, depth: int) -> list[BeamPath]:
        """Return the paths of `depth` steps from the topics that the best readings take, at most `tog.width`."""
        begun = dict.fromkeys(
            (leg.start, (*leg.steps, *candidate.tail)[:depth])
            for candidate in self.reading.candidates[:_READINGS]
            for leg in candidate.legs
            if candidate.score >= 0 and leg.start in self.topics
        )
        paths = (follow(open_graph(self.context), start, steps) for start, steps in begun)
        return list(islice((path for path in paths if len(path.relations) == depth), self.context.settings.tog.width))

    def clue(self, path: BeamPath) -> str:
        """Return the words of the question that a path has not matched, and the names at its end."""
        ids, names = all_ids(self.context), open_graph(self.context).names
        ends = [spoken(names[int(row)]) for row in path.entities[:3] if not ids[row]]
        return " ".join(part for part in (self._unmatched(path), *ends) if part)

    def _unmatched(self, path: BeamPath) -> str:
        """Return the content words of the question that a path does not explain."""
        candidate, asked = self._along(path), self.reading.asked
        explained = self.reading.scoring.account(candidate).explained
        named = {place for mention in candidate.mentions for place in mention.places}
        return " ".join(
            word.key
            for place, word in enumerate(asked.words)
            if asked.weights[place] >= 1 and place not in named and explained[place] < _UNMATCHED
        )

    def score(self, path: BeamPath) -> float:
        """Return the share of the question that a path explains, 0 to 1."""
        return float(self.reading.scoring.features(self._along(path))[0])

    def _along(self, path: BeamPath) -> Candidate:
        """Return the reading of a path."""
        root = int(path.edges[0].at[0])
        mention = next((item for item in self.reading.mentions if root in item.rows), EntityMention(0, 0, (root,), 1.0))
        steps = tuple((relation.predicate, relation.outgoing) for relation in path.relations)
        return Candidate("things", (Leg(mention, root, steps),), path.entities)
