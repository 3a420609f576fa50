"""A model file served by llama.cpp in a child process on this machine: `llm.model=PATH.gguf`, without a server.

The process starts when the model is first needed, and ends with this one.
"""

import json
from pathlib import Path

from conspectus.prompts.client.event_loop import cached_per_process
from conspectus.storage.child_process import ChildProcess
from conspectus.storage.errors import MissingPart, SettingsError

SUFFIX = ".gguf"
_WORKER = Path(__file__).with_name("model_file_worker.py")
_MEMORY = 1 << 46
"""No limit: a model takes what it takes, and its file is mapped."""
_SECONDS = 600.0
"""How long a model may load."""


def url_of(model: str, base_url: str, *, embeddings: bool = False) -> str:
    """Return the URL of a model's server, which is started here if the model is a file and no URL is set.

    Args:
        model: The model's name, or the path of a GGUF file.
        base_url: The URL in the settings.
        embeddings: Whether the model embeds.

    Raises:
        SettingsError: There is no such file, or llama.cpp cannot load it.
        MissingPart: The extra `llama` is not installed.
    """
    if base_url or not model.endswith(SUFFIX):
        return base_url
    path = Path(model).expanduser().absolute()
    if not path.is_file():
        raise SettingsError(f"there is no model file {path}")
    return f"{_started(path, embeddings)[1]}/v1"


@cached_per_process
def _started(path: Path, embeddings: bool) -> tuple[ChildProcess, str]:
    process = ChildProcess([str(_WORKER), str(path), *(["embeddings"] if embeddings else [])], _MEMORY)
    process.send(b"")
    line = process.line(_SECONDS)
    told: dict[str, str] = json.loads(line) if line else {"error": process.ended_by() or "it did not start in time"}
    if told.get("missing"):
        raise MissingPart("a model file needs llama.cpp: pip install 'conspectus[llama]'")
    if "error" in told:
        process.stop()
        raise SettingsError(f"llama.cpp cannot load {path}: {told['error']}")
    return process, told["url"]
