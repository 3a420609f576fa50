"""Community-to-text (FastToG, Liang and Gu 2025): Triple2Text by rules, Graph2Text with a fine-tuned T5.

Graph2Text uses a model from `conspectus train graph2text`. Its text may contain statements that the triples do not
support.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conspectus.prompts.embedding.torch_model import need_torch, offline
from conspectus.query.methods.fasttog.local_search import CommunityCandidate
from conspectus.query.walk.graph import KnowledgeGraph, predicate_words, sentence, spoken
from conspectus.storage.errors import MissingPart, SettingsError
from conspectus.storage.settings import FastTogSettings

MOST_TOKENS = 128
"""Maximum number of tokens written for one community."""
MOST_READ = 512
"""Maximum number of tokens of its triples that the model reads."""
_BEAMS = 4
_AT_ONCE = 8

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CommunityStatement:
    """A piece of text, and the rows of the relations that it states."""

    text: str
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Triple2Text:
    """Triple2Text: one rule-based statement per relation; relations to the origin come first."""

    graph: KnowledgeGraph

    def statements(self, candidates: Sequence[CommunityCandidate]) -> list[tuple[CommunityStatement, ...]]:
        """Return the statements of each community; relations with the same text share one."""
        return [(*self._stated(candidate.bridges), *self._stated(candidate.inside)) for candidate in candidates]

    def _stated(self, relations: Sequence[int]) -> list[CommunityStatement]:
        found: dict[str, list[int]] = {}
        for row in relations:
            found.setdefault(sentence(self.graph, row), []).append(row)
        return [CommunityStatement(text, tuple(found[text])) for text in sorted(found)]


def open_community_text(graph: KnowledgeGraph, settings: FastTogSettings) -> "Triple2Text | Graph2Text":
    """Return Graph2Text with the model of `fasttog.graph2text`, or Triple2Text if none is set."""
    return Graph2Text(graph, open_graph2text(settings.graph2text)) if settings.graph2text else Triple2Text(graph)


def join_statements(statements: Sequence[CommunityStatement]) -> str:
    """Return statements as one line."""
    texts = (statement.text for statement in statements)
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in texts)


@dataclass(frozen=True, slots=True)
class Graph2Text:
    """G2T: a trained model verbalises the triples of a community."""

    graph: KnowledgeGraph
    writer: "T5Writer"

    def statements(self, candidates: Sequence[CommunityCandidate]) -> list[tuple[CommunityStatement, ...]]:
        """Return one statement for each community, or none if the model writes nothing."""
        graph = self.graph
        triples = [
            [
                (graph.names[graph.sources[row]], graph.predicates[graph.stated[row]], graph.names[graph.targets[row]])
                for row in candidate.relations
            ]
            for candidate in candidates
        ]
        texts = self.writer.write(triples)
        return [
            (CommunityStatement(text, candidate.relations),) if text else ()
            for text, candidate in zip(texts, candidates, strict=True)
        ]


def linearised(triples: Sequence[Triple]) -> str:
    """Return triples in the model's input format: the task prefix, then the triples in words.

    >>> linearised([("Ciudad_Ayala", "isPartOf", "Morelos")])
    'describe: Ciudad Ayala | is part of | Morelos'
    """
    texts = (f"{spoken(source)} | {predicate_words(name)} | {spoken(target)}" for source, name, target in triples)
    return f"describe: {'; '.join(texts)}"


class T5Writer:
    """Writes with a trained sequence-to-sequence model."""

    def __init__(self, tokenizer: Any, model: Any) -> None:  # noqa: ANN401  (transformers has no types for these)
        self._tokenizer = tokenizer
        self._model = model
        self._known: dict[str, str] = {}

    def write(self, communities: Sequence[Sequence[Triple]]) -> list[str]:
        """Return the texts, by deterministic beam search; earlier texts are cached."""
        prompts = [linearised(triples) for triples in communities]
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._known]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            self._known |= dict(zip(some, self._written(some), strict=True))
        return [self._known[prompt] for prompt in prompts]

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
        return [" ".join(text.split()) for text in self._tokenizer.batch_decode(made, skip_special_tokens=True)]


def open_graph2text(folder: str) -> T5Writer:
    """Return the writer in a folder, loaded once per process.

    Raises:
        SettingsError: No folder is given.
        MissingPart: The folder contains no model in safetensors format.
    """
    if not folder:
        raise SettingsError("fasttog.graph2text names no folder; train a model with `conspectus train graph2text`")
    return _opened(str(Path(folder).resolve()))


@cache
def _opened(folder: str) -> T5Writer:
    tokenizer, model = read_model(Path(folder))
    model.eval()
    return T5Writer(tokenizer, model)


def read_model(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a local folder.

    Raises:
        MissingPart: The folder contains no sequence-to-sequence model in safetensors format, or PyTorch is missing.
    """
    need_torch(f"the model {folder}")
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise MissingPart(f"{folder} contains no model in safetensors; `conspectus train graph2text` creates one")
    try:
        with offline():
            return (
                AutoTokenizer.from_pretrained(folder, local_files_only=True),
                AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True, use_safetensors=True),
            )
    except (OSError, ValueError) as error:
        raise MissingPart(f"{folder}: its model and tokenizer cannot be read: {error}") from error
