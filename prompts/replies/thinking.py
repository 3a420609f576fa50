"""Separate the answer from the thinking of a reasoning model, and from the marks of a chat template, which some servers
leave in the reply.

Thinking is <think>...</think> and its variants, the channels of gpt-oss, also with their marks dropped
("analysis...assistantfinal..."), and those of Gemma, Command, Granite and others. A reply whose thinking does not end
contains no answer. Tags around the whole answer (<answer>...</answer>) are left out.

Chat templates that begin the reply with <think> leave only the closing mark, so the answer begins after that mark.
"""

import re

_TAGS = (
    "think|thinking|thought|thoughts|reasoning|reasoning_content|reflection|reason|analysis|scratchpad|antthinking|"
    "inner_monologue|seed:think"
)
_OPENS = (
    rf"<(?:{_TAGS})(?:\s[^<>]{{0,60}}+)?>|\[THINK\]|◁think▷|<\|channel\|>\s*+(?:analysis|commentary)|"
    r"<\|channel>\s*+thought|<unused94>|<\|START_THINKING\|>|<\|begin_of_thought\|>"
)
_CLOSES = (
    rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|channel\|>\s*+final(?:[^<]|<\|constrain\|>){{0,120}}+<\|message\|>|"
    r"<channel\|>|<unused95>|<\|END_THINKING\|>|<\|end_of_thought\|>"
)
_TOP = re.compile(rf"\s*(?:(?:<\|start\|>)?assistant)?(?:{_OPENS})", re.IGNORECASE)
_TAIL = re.compile(_CLOSES, re.IGNORECASE)
ANY_MARK = re.compile(f"{_OPENS}|{_CLOSES}", re.IGNORECASE)
"""Where thinking begins or ends."""
_END_OF_TURN = re.compile(r"<\|(?:end|return|call|start)\|>")
_IN_WORDS = re.compile(
    r"\s*(?:analysis(?=[A-Z])(?:.*?(assistant\s?final)(?!ly))?|"
    r"Here(?: is|'s) my thought process:(?:.*?(Here(?: is|'s) my response:))?)",
    re.DOTALL,
)
"""Thinking whose marks are words, and its end if there is one."""
_ALOUD = re.compile(
    r"\s*(?:(?:okay|ok|alright|all right)[,.]? "
    r"(?:so|let|let['’]s|I|I['’]m|we|the (?:user|question)|this|first|now|what|looking)[ ,.]|"
    r"h+m+[,. …]|(?:well|so|first|now)[,.]? (?:I need|I have|I should|let me|let['’]s|we need|we have) |"
    r"(?:let me|let['’]s) (?:see|think|look|start|break|try|go|find|check|recall|read|analy[sz]e) |"
    r"(?:I|we) need to |we are (?:given|asked) |the user |嗯[，,。]|(?:好的|好|首先)[，,]|用户)",
    re.IGNORECASE,
)
"""How thinking begins whose opening mark is in the prompt: 24 of 25 recorded thoughts, and 18 of 750 other replies."""
ALL_REASONING = "all reasoning, without an answer"
_LONGEST_MARK = 200
"""Most characters in a closing mark, its content included."""

_STARTS = (
    "<s>", "<bos>", "<|begin_of_text|>", "[/INST]", "<start_of_turn>model", "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>", "<|assistant|>", "[|assistant|]", "<｜Assistant｜>",
    "<|START_RESPONSE|>", "<|begin_of_solution|>", "<|begin_of_box|>",
)  # fmt: skip
_ENDS = (
    "</s>", "<eos>", "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>",
    "<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "[|endofturn|]", "<|END_RESPONSE|>",
    "<|end_of_solution|>", "<|end_of_box|>",
)  # fmt: skip
"""What chat templates put before and after a reply."""
_NEXT_TURN = ("<|", "<start_of_turn>", "[INST]", "<s>", "<｜")
_WRAPPERS = ("answer", "final_answer", "response", "output", "reply")
"""Tags that some models put around the whole answer."""
_START = re.compile(rf"\A(?:\s*(?:{'|'.join(map(re.escape, _STARTS))}|(?i:{_CLOSES})))+")
"""What stands before an answer; also the end of thinking that the prompt began, or that is empty."""
_WRAPPED = re.compile(rf"\s*<({'|'.join(_WRAPPERS)})>")
_LAST_WRAPPED = re.compile(r"<(answer|final_answer)>((?:(?!<\1>).)*)</\1>\s*\Z", re.DOTALL)
_END = "|".join(map(re.escape, _ENDS))
_OVER = re.compile(rf"(?=[<\[])(?:{_END})\s*(?:{'|'.join(map(re.escape, _NEXT_TURN))}|{_END}|\Z)")
"""A mark that ends the answer: others are text."""


def after_thinking(text: str) -> str | None:
    """Return the text after the thinking in a reply, None if the thinking does not end.

    >>> after_thinking("<think>Two and two.</think>4"), after_thinking("4"), after_thinking("<think>Two and")
    ('4', '4', None)
    >>> after_thinking("<|im_start|>assistant\\n<answer>4</answer><|im_end|>").strip()
    '4'
    """
    bare = _START.sub("", text)
    if _TOP.match(bare) or not bare.lstrip().startswith(("{", "[", "```", "~~~")):  # in JSON such a tag is content
        ends = [match.end() for match in _TAIL.finditer(text)]
        bare = _END_OF_TURN.split(text[ends[-1] :], maxsplit=1)[0] if ends else bare
    if thought := _IN_WORDS.match(bare):
        if not any(thought.groups()):
            return None
        bare = bare[thought.end() :]
    text = _START.sub("", bare)
    if _TOP.match(text):
        return None
    over = _OVER.search(text)
    text = text[: over.start()] if over else text
    if wrapped := _WRAPPED.match(text):
        return text[wrapped.end() :].replace(f"</{wrapped[1]}>", "")
    last = _LAST_WRAPPED.search(text)
    return last[2] if last else text


def without_thinking(reply: str) -> str:
    """Return the text after the thinking of a reasoning model; "" if the thinking does not end."""
    return after_thinking(reply) or ""


def why_unusable(reply: str, otherwise: str) -> str:
    """Return why a reply has no answer: it is empty, all reasoning, or what the caller says.

    >>> why_unusable("<think>The user", "no JSON in it"), why_unusable("Hm.", "no JSON in it")
    ('all reasoning, without an answer', 'no JSON in it')
    """
    if not reply.strip():
        return "empty"
    return otherwise if without_thinking(reply).strip() else ALL_REASONING


class AnswerLength:
    """Counts the characters of an answer that arrives in pieces, without the thinking before it."""

    def __init__(self) -> None:
        self._tail = ""
        self._thinks: bool | None = None

    def take(self, piece: str) -> int:
        """Return how many characters of a further piece belong to the answer, as far as is known."""
        text, at = self._tail + piece, len(self._tail)
        if self._thinks is None:
            self._thinks = _ALOUD.match(_START.sub("", text)) is not None
        for mark in ANY_MARK.finditer(text):
            self._thinks, at = not _TAIL.fullmatch(mark[0]), max(at, mark.end())
        self._tail = text[-_LONGEST_MARK:]
        return 0 if self._thinks else len(text) - at
