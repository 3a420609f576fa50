"""Parse short free-text replies: verdicts of walks, answers in braces, final answers of chains of thought.

The parser skips thinking and labels ("Answer:"), accepts JSON instead of braces and bold text, ignores further
questions that the model invents, and finds the verdict at the beginning or at the end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.replies.json_repair import read_values
from conspectus.prompts.replies.prose import bare_words
from conspectus.prompts.replies.structured import ask_for
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.abstention import abstains, is_unknown
from conspectus.query.answer_writing.own_words import told_anew
from conspectus.query.citations.forms import Numbers, marks_in, numbers_in
from pydantic import BaseModel

LONGEST = 50_000
"""Maximum number of characters of a reply that are read."""
_LABEL = r"(?:a|answer|final answer|reply|response|output|verdict|conclusion|label|result)"
_AT_ONCE = re.compile(
    rf"\W*(?:{_LABEL}\W+)?(yes|no)\b(?!\s+(?:one|information|knowledge|data|specific|such|further)\b)", re.IGNORECASE
)
_BEHIND_LABEL = re.compile(rf"(?m)^[^\w\n]*+{_LABEL}\s*[:：]\W{{0,9}}(yes|no)\b", re.IGNORECASE)
_IN_BRACES = re.compile(r"\{\W{0,3}(yes|no)\W{0,3}\}", re.IGNORECASE)
_BRACED = re.compile(r"\{([^{}]*)\}")
_BETWEEN_BRACES = re.compile(r"[ \t,;/&]*(?:(?:and|or|und|et|y)\s*)?")
_TEMPLATES = frozenset(("yes", "no", "answer", "the answer", "your answer", "name", ""))
_NEXT_QUESTION = re.compile(r"\n[ \t]*(?:\*\*)?(?:Q|Question|Next question|Frage)\s*\d*\s*[:.]", re.IGNORECASE)
_QUESTION_LABEL = re.compile(
    r"^\W*(?:[\w!,' ]{0,40}\s)?(?:next )?(?:question|query|clue|answer|reply)(?: is)?\s*[:：]", re.IGNORECASE
)
_ANSWER_IS = re.compile(
    r"\banswer(?:s)?(?: (?:to|regarding|for)(?: \w+){1,8}?| based on [^\n.]{1,60}?| here)? (?:is|are|would be|"
    r"would then be)(?: that)?[ \t]*[:：]?[ \t]*"
    r"(?P<said>[^\n]*(?:\n\s*(?=[({\\*\[]|\\text)[^\n]*)?)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\(([A-Z])\)")
_LATEX = re.compile(r"\\(?:text|boxed|mathrm|textbf)\b|\\[\[\]()]|\$")
_INSUFFICIENT = re.compile(
    r"\b(?:not|isn't|aren't|in)\s?sufficient|\b(?:do|does|did)(?: not|n't) (?:\w+ )?(?:provide|contain|mention|"
    r"include|specify|state)|"
    r"\badditional (?:knowledge|information|context)|\bno information|\bnot (?:possible|provided|mentioned|"
    r"specified|clear|enough)\b|"
    r"\bcannot|\bunable to",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\W*(?:(?:sure|okay|ok|great|certainly|of course|here)\b\W*)?(?:$|you(?:'re|’re| are| have|'ve)?\b|"
    r"let(?:'s|’s| me| us)\b|great job|it (?:seems|looks|appears) like you|i(?:'d| would) be happy)",
    re.IGNORECASE,
)
_LEAST_BEHIND = 3
"""Minimum number of words after a verdict to be read as its content; with fewer, the whole reply is read."""
_BROKEN_JSON = re.compile(r'\{\s*+["“]\w++["”]\s*+:')
"""How an object begins; if it has no answer, none follows in prose."""
_MOST_OF_PROSE = 150
"""A reply of more words without a verdict or an answer is advice or an essay."""


@dataclass(frozen=True, slots=True)
class ReasoningReply:
    """A reasoning step: whether the evidence suffices, the answer (or the known facts), and the cited numbers."""

    sufficient: bool
    text: str
    numbers: tuple[int, ...]


def read_reasoning(reply: str, shown: int = 999) -> ReasoningReply | None:
    """Parse a reasoning step; return None if it has no verdict, or says yes without an answer.

    Args:
        reply: The text of the reply.
        shown: Number of paths and texts shown to the model: (1, 3) is read as a citation mark up to this number.

    Example:
        >>> read_reasoning("{Yes} {Sweden} [1, 3]")
        ReasoningReply(sufficient=True, text='Sweden', numbers=(1, 3))
        >>> read_reasoning("Reply: No. {Its maker is known.}").text
        'Its maker is known.'
    """
    text = without_thinking(reply)[:LONGEST].strip()
    if told := _of_json(text):
        return _reasoned(told[0], told[1], told[2] or numbers_in(text))
    if _BROKEN_JSON.search(text):
        return None
    first = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    found = _verdict(first) or _verdict(text)
    if found is None:
        return None
    sufficient, start = found
    told_region = _NEXT_QUESTION.split(text[start:], maxsplit=1)[0]
    rest = told_region.lstrip("}*.,:;!)] \n")
    numbers = tuple(dict.fromkeys(number for mark in marks_in(told_region, shown) for number in mark.numbers))
    said = _said(rest)
    stated = _braced(rest) or (said if said.casefold() not in _TEMPLATES else "") or _plain(rest)
    behind = rest[rest.rfind("}") + 1 :] if "}" in rest else ""
    return _reasoned(sufficient, stated, numbers or numbers_in(behind.strip(" .")))


def _reasoned(sufficient: bool, stated: str, numbers: tuple[int, ...]) -> ReasoningReply | None:
    if sufficient and not stated:
        return None
    return ReasoningReply(sufficient, stated, numbers)


def _verdict(text: str) -> tuple[bool, int] | None:
    """Return the verdict (true for yes) and the offset at which its content begins; None if there is no verdict."""
    for form in (_AT_ONCE.match, _BEHIND_LABEL.search, _IN_BRACES.search):
        if found := form(text):
            goes_on = form == _AT_ONCE.match or len(bare_words(text[found.end() :]).split()) >= _LEAST_BEHIND
            return found[1].casefold() == "yes", found.end(1) if goes_on else 0
    if not re.search(r"\w", text):
        return None
    answers = bool(_braced(text) or _ANSWER_IS.search(text))
    if not answers and (_ADVICE.match(text) or len(text.split()) > _MOST_OF_PROSE):
        return None
    return (answers or not _INSUFFICIENT.search(text)), 0


def in_braces(reply: str) -> str:
    """Return the answer of a reply that should put it in braces; "" if the model says that it does not know.

    >>> in_braces("I think it is {Sweden}."), in_braces("Sweden"), in_braces("A: The answer is Sweden.")
    ('Sweden', 'Sweden', 'Sweden')
    """
    text = without_thinking(reply)[:LONGEST].strip()
    if told := _of_json(text):
        return told[1]
    text = re.sub(rf"^\W*{_LABEL}\s*[:：]\s*", "", text, count=1, flags=re.IGNORECASE)
    first = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    answer = _braced(first) or _braced(text) or _said(first)
    if answer:
        return "" if is_unknown(answer) else answer
    return "" if abstains(text) or is_unknown(text) else " ".join(text.split())


def final_answer(reply: str, question: str = "") -> str:
    """Return the final answer of a chain of thought: after "the answer is", in braces, or in the last line.

    Args:
        reply: The text of the reply.
        question: The question; if the reply repeats it, only the text after it is searched.

    Example:
        >>> final_answer("It lies in Sweden.\\nSo the answer is: Sweden."), final_answer("Sweden")
        ('Sweden', 'Sweden')
    """
    text = _LATEX.sub("", without_thinking(reply)[:LONGEST]).strip()
    if told := _of_json(text):
        return told[1]
    if question and question in text:
        text = text[text.rindex(question) + len(question) :].strip()
    first = _NEXT_QUESTION.split(text, maxsplit=1)[0]
    for part in (first, text):
        if answer := _said(part) or _braced(part):
            return "" if is_unknown(answer) else answer
    lines = [line for line in first.splitlines() if line.strip()]
    return _clean(lines[-1]) if lines else ""


def _said(text: str) -> str:
    """Return the answer in the last "the answer is ..." of a text; several options as "A; B"."""
    for found in reversed(list(_ANSWER_IS.finditer(text))):
        said = found["said"]
        if braced := _braced(said):
            return braced
        letters = _LETTER.findall(said.split(".")[0]) if _LETTER.match(said.lstrip(" *{[")) else []
        if letters:
            return "; ".join(dict.fromkeys(letters))
        answer = _clean(re.split(r"(?<=[^\s.][^\s.])[.!?](?:\s|$)", said, maxsplit=1)[0])
        if re.search(r"\w", answer):
            return answer
    return ""


def _clean(text: str) -> str:
    bare = re.sub(r"^\W*\.{3}", "", text.strip().strip("*_` "))
    return bare.strip().strip('"').rstrip(".").strip().strip('*_`"{}').strip()


def _braced(text: str) -> str:
    """Return the answer in the last braces of a text; adjacent braces form one answer."""
    last, end = "", -1
    for part in _BRACED.finditer(text):
        said = part[1].strip().strip('"*').strip()
        if said.casefold() not in _TEMPLATES and '":' not in said:
            beside = last and _BETWEEN_BRACES.fullmatch(text, end, part.start())
            last, end = f"{last}; {said}" if beside else said, part.end()
    return last


def _plain(text: str) -> str:
    """Return a text on one line, without citation marks and braces."""
    parts, at = [], 0
    for mark in marks_in(text):
        parts.append(text[at : mark.start])
        at = mark.end
    return " ".join("".join([*parts, text[at:]]).replace("{", "").replace("}", "").split())


def _of_json(text: str) -> tuple[bool, str, tuple[int, ...]] | None:
    """Return the verdict, answer and numbers of a JSON object such as {"answer": "No", "explanation": "..."}."""
    if "{" not in text or ('"' not in text and "'" not in text):
        return None
    for value in read_values(text).values:
        members = _members(value.content)
        answer = members.get("answer", members.get("verdict", members.get("sufficient")))
        if answer is None:
            continue
        told = "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
        verdict = str(members.get("sufficient", members.get("verdict", told))).strip().casefold()
        why = next(
            (str(members[key]) for key in ("explanation", "reason", "reasoning", "known", "r") if members.get(key)), ""
        )
        numbers = numbers_in(
            " ".join(str(members.get(key, "")) for key in ("facts", "sources", "citations", "evidence"))
        )
        if verdict in ("no", "false"):
            return False, why if told.casefold() in ("no", "false") else told, numbers
        return True, why if told.casefold() in ("yes", "true") else told, numbers
    return None


def _members(content: object) -> dict[str, object]:
    """Return the members of an object and of the objects nested in it, by lower-case key."""
    found: dict[str, object] = {}
    if isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, dict):
                found = _members(value) | found
            else:
                found[str(key).casefold()] = value
    return found


def asked_question(reply: str) -> str:
    """Return the question in a reply: in braces, else the last line with a question mark, else the whole reply.

    Further questions that the model invents and answers are ignored.

    >>> asked_question("Sure! The next question is: {Where was Ada born?}")
    'Where was Ada born?'
    >>> asked_question("Answer: Where was Ada born?\\n\\nQ: Who was she?\\nA: A sailor.")
    'Where was Ada born?'
    """
    text = without_thinking(reply)[:LONGEST].strip()
    first = _NEXT_QUESTION.split(text, maxsplit=1)[0].strip()
    text = first if first.endswith(("?", "？")) else text
    if braced := _braced(text):
        return braced
    lines = [_clean(_QUESTION_LABEL.sub("", line)) for line in text.splitlines()]
    asked = [line for line in lines if line.endswith(("?", "？"))]
    return asked[-1] if asked else " ".join(" ".join(lines).split())


class SpokenAnswer(BaseModel):
    """The base of replies with an answer, which may also be prose with citation marks."""

    @classmethod
    def in_words(cls, reply: str) -> Self | None:
        """Return the answer without marks ("Unknown" if it gives none) and the cited facts; None if it has no words.

        >>> AnswerReply.in_words("Answer: In Pelluci [1, 2].")
        AnswerReply(reason='', answer='In Pelluci.', names=[], facts=[1, 2])
        >>> AnswerReply.in_words("The facts do not say it.").answer
        'Unknown'
        """
        text = without_thinking(reply)[:LONGEST].strip()
        if not re.search(r"\w", text):
            return None
        numbers = [number for mark in marks_in(text) for number in mark.numbers]
        answer = _plain(in_braces(text)) or "Unknown"
        return cls.model_validate({"answer": answer, "facts": list(dict.fromkeys(numbers))})


class AnswerReply(SpokenAnswer):
    """An answer, or "Unknown"."""

    reason: str = ""
    answer: str
    names: list[str] = []
    facts: Numbers = []


Reply = TypeVar("Reply", bound=AnswerReply)


class FactsReply(AnswerReply):
    """An answer from facts and passages, with the numbers of both."""

    passages: Numbers = []


async def answer_from_facts(
    model: LanguageModel,
    request: Request,
    form: type[Reply],
    facts: Sequence[str],
    question: str = "",
) -> tuple[Reply, list[int], str]:
    """Ask a model for an answer from numbered facts; one call, and one more if the reply cannot be used.

    Args:
        model: The model.
        request: The request.
        form: The form of the reply.
        facts: The facts as they are shown.
        question: The question; an answer that only repeats it or the prompt is none. "" to take any answer.

    Returns:
        The reply, the positions of the facts that support its answer, and why it is no answer ("" if it is one). The
        first fact with a name of the answer supports one that cites no fact.

    Raises:
        ModelError: The call fails, or the reply cannot be used.
    """
    said = await ask_for(model, request, form)
    if question:
        said.answer = told_anew(said.answer, request.messages, question)
    said.answer = said.answer.strip()
    if is_unknown(said.answer):
        return said, [], "the model does not know"
    cited = [number - 1 for number in dict.fromkeys(said.facts) if 1 <= number <= len(facts)]
    named = said.names or [said.answer]
    return said, cited or [place for place, fact in enumerate(facts) if mention(fact, named)][:1], ""


def mention(text: str, names: Sequence[str]) -> bool:
    """Return whether a text contains one of the names as whole words.

    >>> mention("Ada Mirren was born in Pelluci", ["pelluci"]), mention("Pelluciville", ["Pelluci"])
    (True, False)
    """
    held = f" {bare_words(text)} "
    return any(f" {words} " in held for words in map(bare_words, names) if words)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names in an answer, separated by semicolons.

    >>> listed_names("Bern; Basel")
    ('Bern', 'Basel')
    """
    return tuple(dict.fromkeys(part.strip().rstrip(".") for part in text.split(";") if part.strip().rstrip(".")))
