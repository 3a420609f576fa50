"""Thinking, marks of chat templates and tags around an answer are left out, of a whole reply and of a streamed one."""

import pytest
from conspectus.prompts.replies.thinking import ThinkingStream, without_thinking

ANSWER = "The mill burned down [2].\n"
REPLIES = {
    "think": "<think>\nOr the bridge?\n</think>\n{}",
    "two thoughts": "<think>One.</think><think>Two.</think>{}",
    "thinking in thinking": "<thinking>One <reflection>two</reflection></thinking>{}",
    "attributes": '<thinking effort="low">One.</thinking>{}',
    "no thoughts": "<think>\n\n</think>\n\n{}",
    "gpt-oss": "<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "gpt-oss, JSON": "<|channel|>analysis<|message|>x<|end|><|channel|>final <|constrain|>json<|message|>{}",
    "gpt-oss without marks": "analysisWe look at the mill.assistantfinal{}",
    "gemma": "<|channel>thought\nOne.<channel|>{}<end_of_turn>",
    "medgemma": "<unused94>thought\nOne.<unused95>{}",
    "mistral": "[THINK]One.[/THINK]{}</s>",
    "command": "<|START_THINKING|>One.<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "open thoughts": "<|begin_of_thought|>x<|end_of_thought|>\n<|begin_of_solution|>{}<|end_of_solution|>",
    "granite": "Here is my thought process: one, two.\n\nHere is my response: {}",
    "opened by the template": "Okay, so the question is about the mill. Or the bridge?\n</think>\n\n{}",
    "opened by the template, in Chinese": "嗯，用户问的是磨坊。\n</think>\n\n{}",
    "r1": "<think>One.</think>\n<answer>{}</answer>",
    "answer": "<answer>\n{}\n</answer>",
    "qwen": "<|im_start|>assistant\n{}<|im_end|>\n<|im_start|>user\nAnd the bridge?",
    "llama": "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
    "deepseek": "<｜Assistant｜>{}<｜end▁of▁sentence｜>",
}


def streamed(reply: str, length: int) -> str:
    stream = ThinkingStream()
    pieces = [stream.take(reply[at : at + length]) for at in range(0, len(reply), length)]
    return "".join([*pieces, stream.take("", whole=True)])


@pytest.mark.parametrize("form", REPLIES.values(), ids=REPLIES)
def test_the_answer_is_left(form: str) -> None:
    reply = form.format(ANSWER)
    assert without_thinking(reply).strip() == ANSWER.strip()
    assert {streamed(reply, length).strip() for length in (1, 2, 7, len(reply))} == {ANSWER.strip()}


def test_what_only_a_whole_reply_shows() -> None:
    assert without_thinking("It burned, so:\n<answer>down</answer>") == "down"
    assert without_thinking("One, two.\n</think>\ndown") == "\ndown"


@pytest.mark.parametrize(
    "text",
    [
        "The token <|im_end|> ends a turn, [/INST] a prompt, and </s> a line that is struck.",
        "It is 3 < 4 <b>here</b> [|x|] <",
        "<div>The mill</div>",
        '{"text": "<think>is a tag</think>"}',
        "Here is my list: the mill, the bridge.",
        "Okay, so the mill burned down in 1911, and the bridge after it.",
        "Let's see the mill",
        "We need",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert without_thinking(text) == text
    assert streamed(text, 1) == text


def test_only_what_may_be_thinking_without_an_opening_mark_is_held_back() -> None:
    held, told = ThinkingStream(), ThinkingStream()
    assert held.take("Alright, I need to find the mill. ") == ""
    assert held.take("It burned down.") == ""
    assert held.take("", whole=True) == "Alright, I need to find the mill. It burned down."
    assert told.take("Okay, here") == "Okay, here"
    thought = ThinkingStream()
    thought.take("<think>The mill?</think>")
    assert thought.take("Okay, so the mill burned") == "Okay, so the mill burned"


@pytest.mark.parametrize("text", ["<think>It may be the mill, or", "<|channel>thought\nOne.", "[THINK]One."])
def test_thinking_that_does_not_end_holds_no_answer(text: str) -> None:
    assert without_thinking(text) == streamed(text, 3) == ""
