"""G2T: what a community holds in a sentence or two, by a sequence-to-sequence model trained on triples and texts.

FastToG (Liang and Gu 2025, "Graph-to-Text"): a T5 that `conspectus train graph2text` fine-tuned. What such a model
says may go beyond the triples; `pipelines/train/text_quality.py` measures how often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from conspectus.prompts.embedding.local import offline
from conspectus.query.methods.fasttog.community_text import Statement
from conspectus.query.methods.fasttog.local_search import Candidate
from conspectus.query.walk.graph import KnowledgeGraph, predicate_words, spoken
from conspectus.storage.errors import MissingPart, SettingsError

MOST_TOKENS = 128
"""Most tokens that are written for one community."""
MOST_READ = 512
"""Most tokens that are read of one."""
_BEAMS = 4
_AT_ONCE = 8

Triple = tuple[str, str, str]


class Writer(Protocol):
    """Writes what triples say."""

    def write(self, communities: Sequence[Sequence[Triple]]) -> list[str]:
        """Return a text for each list of triples."""
        ...


@dataclass(frozen=True, slots=True)
class Graph2Text:
    """Says each community in one statement."""

    graph: KnowledgeGraph
    writer: Writer
    name: str = "g2t"

    def told(self, candidates: Sequence[Candidate]) -> list[tuple[Statement, ...]]:
        """Return one statement for each community, made of all its relations; "" is told as nothing."""
        graph = self.graph
        triples = [
            [
                (graph.names[graph.sources[row]], graph.predicates[graph.stated[row]], graph.names[graph.targets[row]])
                for row in each.relations
            ]
            for each in candidates
        ]
        texts = self.writer.write(triples)
        return [
            (Statement(text, each.relations),) if text else () for text, each in zip(texts, candidates, strict=True)
        ]


def linearised(triples: Sequence[Triple]) -> str:
    """Return triples as the model reads them, in training and in use: the task, then each in words.

    >>> linearised([("Ciudad_Ayala", "isPartOf", "Morelos")])
    'describe: Ciudad Ayala | is part of | Morelos'
    """
    told = (f"{spoken(source)} | {predicate_words(said)} | {spoken(target)}" for source, said, target in triples)
    return f"describe: {'; '.join(told)}"


class T5Writer:
    """Writes with a trained sequence-to-sequence model."""

    def __init__(self, tokenizer: Any, model: Any) -> None:  # noqa: ANN401  (transformers has no types for these)
        self._tokenizer = tokenizer
        self._model = model
        self._known: dict[str, str] = {}

    def write(self, communities: Sequence[Sequence[Triple]]) -> list[str]:
        """Return the texts by beam search, without chance; one that was written before is not written again."""
        prompts = [linearised(each) for each in communities]
        new = [each for each in dict.fromkeys(prompts) if each not in self._known]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            self._known |= dict(zip(some, self._written(some), strict=True))
        return [self._known[each] for each in prompts]

    def _written(self, prompts: Sequence[str]) -> list[str]:
        import torch

        given = self._tokenizer(
            list(prompts), padding=True, truncation=True, max_length=MOST_READ, return_tensors="pt"
        ).to(self._model.device)
        with torch.inference_mode():
            made = self._model.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                max_new_tokens=MOST_TOKENS,
                num_beams=_BEAMS,
                do_sample=False,
            )
        return [" ".join(each.split()) for each in self._tokenizer.batch_decode(made, skip_special_tokens=True)]


def open_graph2text(folder: str) -> T5Writer:
    """Return the writer in a folder, loaded once a process.

    SettingsError where none is named; MissingPart where the folder holds no model in safetensors.
    """
    if not folder:
        raise SettingsError("fasttog.text is `g2t`, and fasttog.graph2text names no folder: train one, or take `t2t`")
    return _opened(str(Path(folder).resolve()))


@cache
def _opened(folder: str) -> T5Writer:
    tokenizer, model = read_model(Path(folder))
    model.eval()
    return T5Writer(tokenizer, model)


def read_model(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a folder: safetensors, from this machine alone.

    MissingPart where the folder holds no sequence-to-sequence model of that kind.
    """
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise MissingPart(f"{folder} holds no model in safetensors; `conspectus train graph2text` makes one")
    try:
        with offline():
            return (
                AutoTokenizer.from_pretrained(folder, local_files_only=True),
                AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True, use_safetensors=True),
            )
    except (OSError, ValueError) as error:
        raise MissingPart(f"{folder}: its model and tokenizer cannot be read: {error}") from error
