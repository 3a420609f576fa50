"""Components of a spaCy pipeline with the same results in less time.

A third of a small pipeline's time goes into two of its components: the greedy entity recogniser of spaCy 3.8 takes and
releases Python's interpreter lock for each class of each token, and the attribute ruler tries each of its patterns on
each token. `components` replaces them where the replacement is exact, and leaves all others as they are.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.storage.arrays import Bools, Ints, Vectors

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline import AttributeRuler, EntityRecognizer, Lemmatizer
    from spacy.tokens import Doc, Token

Component = Callable[["list[Doc]"], "list[Doc]"]
"""Annotates a batch of documents, in place or anew."""


def components(nlp: "Language") -> list[Component]:
    """Return what annotates the documents of `nlp.make_doc`, in order, with the results of `nlp.pipe`.

    One result is left out: the lemmas of words that are not verbs, where a rule gives them.
    """
    from spacy.pipeline import AttributeRuler, EntityRecognizer, Lemmatizer

    found: list[Component] = []
    for _, part in nlp.pipeline:
        if type(part) is EntityRecognizer and NameDecoder.reads(part):
            found.append(NameDecoder(part))
        elif type(part) is AttributeRuler and (memo := RulerMemo(part)).is_exact:
            found.append(memo)
        elif isinstance(part, Lemmatizer) and type(part).__call__ is Lemmatizer.__call__:
            found.append(VerbLemmas(part))
        else:
            found.append(_AsItIs(part))
    return found


class _AsItIs:
    """A component of spaCy."""

    def __init__(self, part: "Callable[[Doc], Doc]") -> None:
        self._part = part

    def __call__(self, docs: "list[Doc]") -> "list[Doc]":
        pipe = getattr(self._part, "pipe", None)
        if pipe:
            return list(pipe(docs, batch_size=len(docs)))
        return [self._part(doc) for doc in docs]


class VerbLemmas:
    """The lemmas of verbs: nobody reads those of other words."""

    def __init__(self, lemmatizer: "Lemmatizer") -> None:
        self._lemmatizer = lemmatizer

    def __call__(self, docs: "list[Doc]") -> "list[Doc]":
        """Set the lemmas."""
        for doc in docs:
            for token in doc:
                if token.pos_ in {"VERB", "AUX"} and (self._lemmatizer.overwrite or not token.lemma):
                    token.lemma_ = self._lemmatizer.lemmatize(token)[0]
        return docs


_SET_HERE: list[int | str] = ["POS", "MORPH", "LEMMA", "TAG", "DEP"]
_KIND: list[int | str] = ["LOWER", "TAG", "DEP", "IS_SPACE"]
_EARLIER: list[int | str] = ["POS", "MORPH", "LEMMA"]


class RulerMemo:
    """An attribute ruler that remembers what its patterns gave to equal tokens.

    Most patterns are of one token, and read its tag, its dependency, whether it is a space, and a few lower-case forms.
    So tokens fall into few kinds (some hundred in English). Documents with a match of another pattern go through the
    ruler itself.

    Attributes:
        is_exact: Whether the ruler sets only attributes that are remembered.
    """

    def __init__(self, ruler: "AttributeRuler") -> None:
        from spacy.matcher import Matcher

        self._ruler = ruler
        rules: list[Any] = ruler.patterns
        self.is_exact = all(set(rule["attrs"]) <= set(_SET_HERE) for rule in rules)
        self._found: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._others = Matcher(ruler.vocab)
        words: set[str] = set()
        for number, rule in enumerate(rules):
            others = [pattern for pattern in rule["patterns"] if not _is_simple(pattern)]
            words.update(word for pattern in rule["patterns"] if pattern not in others for word in _listed(pattern[0]))
            if others:
                self._others.add(str(number), others)
        self._words = np.array(sorted(ruler.vocab.strings.add(word) for word in words), np.uint64)

    def __call__(self, docs: "list[Doc]") -> "list[Doc]":
        """Set what the ruler sets."""
        return [self._set(doc) for doc in docs]

    def _set(self, doc: "Doc") -> "Doc":
        kinds: Any = doc.to_array(_KIND + _EARLIER)
        if not len(doc) or kinds[:, 4:].any() or self._others(doc, allow_missing=True):
            return self._ruler(doc)
        kinds[~np.isin(kinds[:, 0], self._words), 0] = 0
        keys = [tuple(row) for row in kinds[:, :4].tolist()]
        for place, key in enumerate(keys):
            if key not in self._found:
                self._found[key] = self._alone(doc[place])
        found: Any = np.array([self._found[key] for key in keys], np.uint64)
        return doc.from_array(_SET_HERE, found)

    def _alone(self, token: "Token") -> tuple[int, ...]:
        """Return what the ruler sets on a token in a document of its own."""
        from spacy.tokens import Doc

        alone = Doc(token.vocab, [token.text], tags=[token.tag_], deps=[token.dep_], heads=[0])
        return tuple(self._ruler(alone).to_array(_SET_HERE)[0].tolist())


def _is_simple(pattern: Sequence[dict[str, Any]]) -> bool:
    """Return whether a pattern is of one token, and reads only what is remembered."""
    token = pattern[0]
    word = token.get("LOWER", "")
    listed = isinstance(word, str) or set(word) == {"IN"}
    return len(pattern) == 1 and listed and set(token) <= {"LOWER", "TAG", "DEP", "IS_SPACE"}


def _listed(token: dict[str, Any]) -> Sequence[str]:
    """Return the lower-case forms that a pattern's token names."""
    word = token.get("LOWER", {})
    return [word] if isinstance(word, str) else word.get("IN", [])


_MOST_TOGETHER = 50
"""Tokens up to which all names are read together; hardly any name has more."""


class NameDecoder:
    """The transitions of a greedy entity recogniser (BILUO: begin, in, last, unit, out), with arrays.

    Outside of a name the scores of a token's moves depend on that token alone, and within a name only two moves are
    possible. So the scores of all tokens of a batch are computed together, then all names that begin anywhere are read
    together, and only then one goes from token to token. Scores are summed in float64, so that they do not depend on
    the batch.

    Names that are not at an end after `_MOST_TOGETHER` tokens are read one by one, where one comes to them: if every
    token of a long text began a name up to its end, reading all would take the square of its length.
    """

    def __init__(self, recognizer: "EntityRecognizer") -> None:
        self._recognizer = recognizer
        model = recognizer.model
        self._token_vectors = model.layers[0]
        self._lower = model.get_ref("lower")
        upper = model.get_ref("upper")
        self._weights = upper.get_param("W").T.astype(np.float64)
        self._bias = upper.get_param("b").astype(np.float64)
        moves = [tuple(recognizer.moves.get_class_name(i).split("-", 1)) for i in range(recognizer.moves.n_moves)]
        self._labels = [move[-1] for move in moves]
        self._begin, self._unit = (np.array([m[0] == kind and bool(m[-1]) for m in moves]) for kind in "BU")
        self._never = ~(self._begin | self._unit | np.array([m == ("O",) for m in moves]))
        self._in = np.array([_place(moves, "I", label) for label in self._labels])
        self._last = np.array([_place(moves, "L", label) for label in self._labels])

    @staticmethod
    def reads(recognizer: "EntityRecognizer") -> bool:
        """Return whether a recogniser is greedy and has the three features of spaCy's models."""
        model = recognizer.model
        return bool(
            recognizer.cfg.get("beam_width", 1) == 1
            and model.attrs.get("has_upper")
            and not model.attrs.get("unseen_classes")
            and model.get_ref("lower").get_dim("nF") == 3
            and model.get_ref("lower").get_dim("nP") > 1
        )

    def __call__(self, docs: "list[Doc]") -> "list[Doc]":
        """Set the names of documents."""
        from spacy.tokens import Span

        read = [doc for doc in docs if len(doc)]
        if not read:
            return docs
        known = np.concatenate([doc.to_array(["IS_SPACE", "SENT_START", "ENT_IOB"]) for doc in read])
        if known[:, 2].any():  # names that another component has set, which are kept
            return list(self._recognizer.pipe(docs, batch_size=len(docs)))
        cached = self._lower.predict(self._token_vectors.predict(read))  # (1 + n, feature, hidden, piece); 0: none
        ends = np.cumsum([len(doc) for doc in read])
        space, goes_on = known[:, 0] == 1, np.append(known[1:, 1] != 1, False)
        goes_on[ends - 1] = False  # a name ends with its sentence and its document
        moves, name_ends = self._moves(cached, space, goes_on)
        start = 0
        for doc, end in zip(read, ends.tolist(), strict=True):
            spans, after = [], start
            for place in (np.flatnonzero(name_ends[start:end]) + start).tolist():
                if place >= after:
                    if name_ends[place] < 0:
                        self._read(cached, goes_on, moves, name_ends, np.array([place]), len(name_ends))
                    after = int(name_ends[place])
                    spans.append(Span(doc, place - start, after - start, label=self._labels[moves[place]]))
            doc.set_ents(spans, default="outside")
            start = end
        return docs

    def _moves(self, cached: Vectors, space: Bools, goes_on: Bools) -> tuple[Ints, Ints]:
        """Return the best move at each token outside of a name, and where the name that it begins ends, or 0.

        -1 stands for the end of a name that has to be read further.
        """
        n_tokens = len(space)
        here = np.arange(n_tokens)
        none = np.full(n_tokens, -1)
        scores = self._scores(cached, here, none, none)
        scores[:, self._never] = -np.inf
        scores[np.ix_(space | ~goes_on, self._begin)] = -np.inf
        scores[np.ix_(space, self._unit)] = -np.inf
        moves = scores.argmax(axis=1)
        ends = np.where(self._unit[moves], here + 1, 0)
        self._read(cached, goes_on, moves, ends, np.flatnonzero(self._begin[moves]), _MOST_TOGETHER)
        return moves, ends

    def _read(self, cached: Vectors, goes_on: Bools, moves: Ints, ends: Ints, first: Ints, most: int) -> None:
        """Set the ends of the names that begin at `first`, of more than `most` tokens to -1."""
        place = first + 1
        for _ in range(most):
            if not len(first):
                return
            scores = self._scores(cached, place, first, place - 1)
            each, in_, last = np.arange(len(first)), self._in[moves[first]], self._last[moves[first]]
            stays = goes_on[place] & (scores[each, in_] >= scores[each, last])
            ends[first[~stays]] = place[~stays] + 1
            first, place = first[stays], place[stays] + 1
        ends[first] = -1

    def _scores(self, cached: Vectors, *tokens: Ints) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Return the scores (n, move) of states with three tokens each; -1 stands for none."""
        first, *others = (cached[token + 1, feature] for feature, token in enumerate(tokens))
        hidden = (sum(others, start=first) + self._lower.get_param("b")).max(axis=-1)
        scores: np.ndarray[Any, np.dtype[np.float64]] = hidden.astype(np.float64) @ self._weights + self._bias
        return scores


def _place(moves: Sequence[tuple[str, ...]], kind: str, label: str) -> int:
    """Return the place of a move, -1 if there is none."""
    return moves.index((kind, label)) if (kind, label) in moves else -1
