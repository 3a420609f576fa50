"""How many tokens graphs have as text, without writing them: each text is counted once, however often it stands."""

from conspectus.pipelines.evaluation.graphqa.types import Size
from conspectus.query.types.textual_graph import Table, TextualGraph
from conspectus.storage.text.tokens import count_each, count_tokens

_MOST_KNOWN = 1_000_000


class Sizes:
    """Sizes of graphs, with the tokens of the texts seen so far."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._headers = count_tokens(TextualGraph((), ()).to_text())

    def of(self, graph: TextualGraph) -> Size:
        """Return the size of a graph, the tokens of `graph.to_text()` among it."""
        numbers = [str(each) for each in range(len(graph.nodes))]
        self._count([*numbers, *graph.nodes, *(each.text for each in graph.edges)])
        known = self._known
        # Commas and line ends part tokens, so that a row has as many as its fields, and one for each comma.
        tokens = self._headers + sum(known[number] + 1 for number in numbers) + sum(known[text] for text in graph.nodes)
        for edge in graph.edges:
            tokens += known[numbers[edge.source]] + known[edge.text] + known[numbers[edge.target]] + 2
        return Size(len(graph.nodes), len(graph.edges), tokens)

    def _count(self, texts: list[str]) -> None:
        if len(self._known) > _MOST_KNOWN:
            self._known = {}
        new = [each for each in dict.fromkeys(texts) if each not in self._known]
        self._known |= zip(new, count_each(str(Table(((each,),))) for each in new), strict=True)
