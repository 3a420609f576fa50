"""Loading a model's files from this machine: nothing is downloaded, and nothing is drawn on the terminal."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def offline() -> Iterator[None]:
    """Load Hugging Face models inside: their libraries look at no server (from now on) and draw no bars."""
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    from transformers.utils import logging

    progress: Any = logging  # its functions have no annotations
    bars = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            progress.enable_progress_bar()
