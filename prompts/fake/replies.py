"""Who answers what: rules in order, and a made-up reply where none fits."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.chance import Dice
from conspectus.prompts.fake.instances import instance
from conspectus.prompts.fake.lengths import Kind
from conspectus.prompts.fake.malformed import MalformedKind
from conspectus.prompts.fake.prose import reply_text

Where = Literal["any", "last", "system", "step"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool; `arguments` are sent as JSON text."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FakeReply:
    """What the model says, and how.

    `text` None is a null content (as with tool calls). `finish` None is worked out: "tool_calls", "length" where
    max_tokens cut the text, else "stop". A `status` of 400 or more sends an error with `text` as its message.
    `latency` replaces the server's, in seconds. `malformed` spoils the text. `refusal` is OpenAI's field of that name.
    """

    text: str | None = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    status: int = 200
    latency: float | None = None
    malformed: MalformedKind | None = None
    refusal: str | None = None


Maker = str | FakeReply | Sequence[str | FakeReply] | Callable[[FakeRequest], str | FakeReply]
"""Makes a reply: a fixed one, several in turn (the last one stays), or a function of the request."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reply and the requests that get it.

    `match` is a regular expression to be found in the messages, or a function of the request, or None for every
    request. `where` says which text the expression is looked for in: "any" message, the "last" one, the "system"
    ones, or the "step" (see `FakeRequest.step`). After `times` replies the rule is used up.
    """

    make: Maker
    match: str | re.Pattern[str] | Callable[[FakeRequest], bool] | None = None
    where: Where = "any"
    times: int | None = None

    def fits(self, request: FakeRequest) -> bool:
        """Whether the rule is for this request."""
        if self.match is None:
            return True
        if isinstance(self.match, (str, re.Pattern)):
            return re.search(self.match, _TEXT[self.where](request)) is not None
        return self.match(request)


_TEXT: dict[Where, Callable[[FakeRequest], str]] = {
    "any": lambda request: request.prompt,
    "last": lambda request: request.last,
    "system": lambda request: request.system,
    "step": lambda request: request.step,
}


def made_up(request: FakeRequest) -> FakeReply:
    """Return the reply where no rule fits: it depends on the messages, `seed` and the sample only.

    With a JSON schema it is an instance of it; with a JSON object, one that holds prose; else prose. The prose is as
    long as real replies are (`lengths`), those of reports where the prompt speaks of a report or JSON, else those of
    extractions.
    """
    key = (request.digest, request.sample)
    if request.schema is not None:
        return FakeReply(json.dumps(instance(request.schema, Dice("schema", *key)), ensure_ascii=False))
    prompt = request.prompt.lower()
    kind: Kind = "report" if "report" in prompt or "json" in prompt else "extraction"
    text = reply_text(key, kind)
    return FakeReply(json.dumps({"reply": text}) if request.format == "json_object" else text)


def forced_choice(vocabulary: Mapping[int, str]) -> Rule:
    """Return a rule for requests whose `logit_bias` forces tokens (50 or more): the reply is one of these tokens.

    `vocabulary` gives the text of each token id. Requests that force other ids are left to other rules.
    """

    def fits(request: FakeRequest) -> bool:
        return bool(request.forced) and all(token in vocabulary for token in request.forced)

    def choose(request: FakeRequest) -> str:
        return vocabulary[Dice("forced", request.digest, request.sample).choice(request.forced)]

    return Rule(choose, fits)


class Replies:
    """Rules in order: the first that fits a request answers it, `otherwise` where none does.

    `Replies([Rule("yes", "Is there more")])`; `Replies.read("script.jsonl")` reads a file (see `scripts`).
    """

    def __init__(self, rules: Iterable[Rule] = (), otherwise: Maker = made_up) -> None:
        self.rules = tuple(rules)
        self.otherwise = otherwise
        self._used = [0] * (len(self.rules) + 1)

    @classmethod
    def of(cls, given: "Given") -> "Replies":
        """Return replies from what is easiest to write.

        Nothing, Replies, rules, a mapping from regular expressions to makers, or one maker for every request.
        """
        if given is None:
            return cls()
        if isinstance(given, Replies):
            return given
        if isinstance(given, Mapping):
            return cls([Rule(maker, expression) for expression, maker in given.items()])
        if isinstance(given, Sequence) and not isinstance(given, str):
            rules = [each for each in given if isinstance(each, Rule)]
            return cls(rules) if rules else cls(otherwise=[each for each in given if not isinstance(each, Rule)])
        return cls(otherwise=given)

    @classmethod
    def read(cls, path: str | Path) -> "Replies":
        """Return the rules of a script file, InputError where it is not one; see `conspectus.prompts.fake.scripts`."""
        from conspectus.prompts.fake.scripts import read_script

        return cls(read_script(Path(path)))

    def answer(self, request: FakeRequest) -> tuple[FakeReply, ...]:
        """Return as many replies as the request asks for (`n`)."""
        n = request.body.get("n") or 1
        return tuple(self._one(request if i == 0 else replace(request, sample=i)) for i in range(n))

    def _one(self, request: FakeRequest) -> FakeReply:
        for place, rule in enumerate(self.rules):
            if (rule.times is None or self._used[place] < rule.times) and rule.fits(request):
                return self._made(place, rule.make, request)
        return self._made(len(self.rules), self.otherwise, request)

    def _made(self, place: int, maker: Maker, request: FakeRequest) -> FakeReply:
        turn = self._used[place]
        self._used[place] += 1
        if isinstance(maker, (str, FakeReply)):
            made: str | FakeReply = maker
        elif isinstance(maker, Sequence):
            made = maker[min(turn, len(maker) - 1)]
        else:
            made = maker(request)
        return FakeReply(made) if isinstance(made, str) else made


Given = Replies | Mapping[str, Maker] | Sequence[Rule] | Maker | None
"""What `Replies.of` understands."""
