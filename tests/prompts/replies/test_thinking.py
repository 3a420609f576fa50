"""Thinking, marks of chat templates and tags around an answer are left out of a reply."""

import pytest
from conspectus.prompts.replies.thinking import AnswerLength, without_thinking

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
    "mistral, opened by the template": "[/THINK]{}</s>",
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


def length(reply: str, piece: int) -> int:
    counted = AnswerLength()
    return sum(counted.take(reply[at : at + piece]) for at in range(0, len(reply), piece))


@pytest.mark.parametrize("form", REPLIES.values(), ids=REPLIES)
def test_the_answer_is_left(form: str) -> None:
    reply = form.format(ANSWER)
    assert without_thinking(reply).strip() == ANSWER.strip()


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


def test_the_characters_of_an_answer_that_arrives_are_counted() -> None:
    thought = "I need to find the mill. " * 40
    for begin in (
        f"<think>{thought}</think>",
        f"Okay, {thought}</think>",
        f"[THINK]{thought}[/THINK]<think>So</think>",
    ):
        assert length(begin + ANSWER, len(begin + ANSWER)) == len(ANSWER)
        assert length(begin + ANSWER, 80) <= len(ANSWER)
        assert length(begin, 80) == 0
    assert length(ANSWER, 7) == len(ANSWER)
    assert length(f"Okay, so {ANSWER}", 80) == 0  # the mark may still come


@pytest.mark.parametrize("text", ["<think>It may be the mill, or", "<|channel>thought\nOne.", "[THINK]One."])
def test_thinking_that_does_not_end_holds_no_answer(text: str) -> None:
    assert without_thinking(text) == ""
    assert length(text, 80) == 0
