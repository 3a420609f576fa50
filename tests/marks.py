"""Prompts as they were before what comes from documents was set apart in them, for tests of what stands where."""

import re

_MARKS = re.compile(r"^={10,}\n|\n={10,}$", re.MULTILINE)


def unmarked(prompt: str) -> str:
    """Return a prompt without its lines of marks.

    >>> unmarked("Text:\\n==========\\nAda met Bela.\\n==========\\n\\nRecords:")
    'Text:\\nAda met Bela.\\n\\nRecords:'
    """
    return _MARKS.sub("", prompt)
