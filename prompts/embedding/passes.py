"""Forward passes of texts through a model on this machine.

A vector must depend on its own text only, so that adding a document changes no other document's vectors. The last bits
of a vector depend on the shape of the pass and on the number of threads that share it. So all texts of a pass have
the same number of tokens (no padding, hence no mask), and a pass runs on a single thread; as many passes run in
parallel as there are processors. Measured on MiniLM this is as fast as padded batches on all cores.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.prompts.embedding.windows import cut_windows, without_surrogates
from conspectus.storage.arrays import Vectors
from conspectus.storage.cancellation import check

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# With fewer, a window of a passage is alone in its pass: 128 tokens take 9 % more processor time.
_TOKENS_PER_PASS = 320
# A filled pass is computed whole for a single text.
_TOKENS_OF_FILLED = 128


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """What a model makes of a text.

    Attributes:
        vector: The unit vector of the text, (d,).
        tokens: The unit vector of each of its t tokens, where it stands in the text, (t, d).
        spans: The characters of each token, [start, end) in the text.
    """

    vector: Vectors
    tokens: Vectors
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory.

    Attributes:
        tokenizer: Its tokenizer, without truncation and padding.
        run: Returns the unit vectors (n, d) of the token ids of n texts that have the same number of tokens.
        threads: Run the passes.
        dimension: The length of a vector.
        max_tokens: Most tokens in a text, special tokens included.
        document_prompt: Prefix of every document.
        query_prompt: Prefix of every question.
        run_tokens: Returns the unit vector (d,) of the t token ids of a text, and those of its tokens (t, d).
        fill: Whether the bits of a vector depend on the number of texts in its pass: then every pass is filled up.
    """

    tokenizer: "Tokenizer"
    run: Callable[[list[list[int]]], Vectors]
    threads: ThreadPoolExecutor
    dimension: int
    max_tokens: int
    document_prompt: str = ""
    query_prompt: str = ""
    run_tokens: Callable[[list[int]], tuple[Vectors, Vectors]] | None = None
    fill: bool = False

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, special tokens included."""
        found: list[int] = self.tokenizer.encode(without_surrogates(text)).ids
        return found

    def windows(self, text: str, prompt: str, most: int | None = None) -> list[str]:
        """Return the windows of a text that fit after a prompt, at most the first `most`."""
        if self._is_surely_short(prompt + text) or len(self.ids(prompt + text)) <= self.max_tokens:
            return [text]
        room = self.max_tokens - len(self.ids(prompt))
        tokens = self.tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        return cut_windows(
            text,
            [start for start, _ in tokens.offsets],
            tokens.word_ids,
            room=room,
            fits=lambda piece: len(self.ids(prompt + piece)) <= self.max_tokens,
            most=most,
        )

    def _is_surely_short(self, text: str) -> bool:
        """Return whether a text fits without looking at its tokens: none is shorter than an ASCII character.

        Names and most sentences are: then they are tokenized once, to be embedded.
        """
        most = len(text) + 1 + self.tokenizer.num_special_tokens_to_add(is_pair=False)  # 1: a space before the text
        return most <= self.max_tokens and text.isascii()

    def embed_apart(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of texts that fit, equal to those computed one by one."""
        ids = [self.ids(text) for text in texts]
        if not self.fill:
            return list(self.embed_ids(ids))
        return [found[0] for found in self.threads.map(self.run, ([tokens] for tokens in ids))]

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors] | None:
        """Return the vectors of texts that fit and of their tokens, or None if the model does not show its tokens."""
        if self.run_tokens is None:
            return None
        found = [self.tokenizer.encode(without_surrogates(text)) for text in texts]
        vectors = self.threads.map(self.run_tokens, (each.ids for each in found))
        return [
            TokenVectors(vector, tokens[1:-1], tuple(each.offsets[1:-1]))  # without the marks of beginning and end
            for each, (vector, tokens) in zip(found, vectors, strict=True)
        ]

    def embed_ids(self, ids: Sequence[list[int]]) -> Vectors:
        """Return the vectors of tokenized texts; those of equal tokens are computed once."""
        rows_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for row, tokens in enumerate(ids):
            rows_of[tuple(tokens)].append(row)
        of_length: dict[int, list[list[int]]] = defaultdict(list)
        for key, rows in rows_of.items():
            of_length[len(key)].append(rows)
        passes = [
            same[i : i + size]
            for length, same in sorted(of_length.items(), reverse=True)  # long ones first
            for size in [self._texts_of(length)]
            for i in range(0, len(same), size)
        ]
        vectors = np.empty((len(ids), self.dimension), dtype=np.float32)
        compute = self.threads.map if len(passes) > 1 else map
        for each, found in zip(passes, compute(self.run, self._inputs(ids, passes)), strict=True):
            check()
            for rows, vector in zip(each, found, strict=False):  # a filled pass has more vectors than texts
                vectors[rows] = vector
        return vectors

    def _inputs(self, ids: Sequence[list[int]], passes: Iterable[list[list[int]]]) -> Iterable[list[list[int]]]:
        """Yield the tokens of each pass; where bits depend on its shape, it is padded with copies of its last text."""
        for each in passes:
            tokens = [ids[rows[0]] for rows in each]
            if self.fill:
                tokens += tokens[-1:] * (self._texts_of(len(tokens[0])) - len(tokens))
            yield tokens

    def _texts_of(self, length: int) -> int:
        """Return how many texts of a length in tokens a pass has at most."""
        return max(1, (_TOKENS_OF_FILLED if self.fill else _TOKENS_PER_PASS) // length)
