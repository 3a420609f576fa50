"""What of a prompt stands inside a tag, and what outside of all, for tests."""

import re
from collections.abc import Mapping
from typing import Any

_TAGGED = re.compile(r"<([a-z_]+)>\n?(.*?)\n?</\1>", re.DOTALL)


def inside(prompt: str, tag: str) -> str:
    """Return the text inside the last tag of this name, which follows those of examples.

    >>> inside("<text>One.</text> <text>\\nAda met Bela.\\n</text>\\n\\nRecords:", "text")
    'Ada met Bela.'
    """
    found = [match[2] for match in _TAGGED.finditer(prompt) if match[1] == tag]
    assert found, f"no <{tag}> in {prompt[:200]!r}"
    return found[-1]


def outside(prompt: str) -> str:
    """Return a prompt without what stands inside tags.

    >>> outside("<text>Ada met Bela.</text>\\n\\nRecords:")
    '<text></text>\\n\\nRecords:'
    """
    return _TAGGED.sub(r"<\1></\1>", prompt)


def prompt_of(asked: Any) -> str:  # noqa: ANN401  (the body of a request, or a Request)
    """Return the contents of all messages of a request, joined by line breaks."""
    if isinstance(asked, Mapping):
        return "\n".join(str(message["content"]) for message in asked["messages"])
    return "\n".join(message.content for message in asked.messages)


def unmarked(prompt: str) -> str:
    """Return a prompt without the tags around its data.

    >>> unmarked("Text:\\n<text>\\nAda met Bela.\\n</text>\\n\\nRecords:")
    'Text:\\nAda met Bela.\\n\\nRecords:'
    """
    return re.sub(r"^<[a-z_]+>\n?|\n?</[a-z_]+>$", "", prompt, flags=re.MULTILINE)
