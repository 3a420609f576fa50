"""The learned parts of a soft graph prompt on disk: numbers in safetensors, what they are in JSON; no pickle."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel
from conspectus.query.methods.gretriever.soft.shape import SoftShape
from conspectus.storage.errors import MissingPart
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

REPORT = "gretriever.json"
LEARNED = "learned.safetensors"


@dataclass(frozen=True, slots=True)
class Made:
    """What learned parts belong to: the frozen model and its signature, and the encoder of nodes and edges."""

    model: str
    signature: str
    embedder: str
    encoding_width: int
    shape: SoftShape

    def __post_init__(self) -> None:
        """Refuse a width that no vector has: ValueError."""
        if self.encoding_width < 1:
            raise ValueError(f"encodings are {self.encoding_width} wide")


def write_learned(prompt: "SoftPrompt", file: Path) -> None:
    """Write the learned parts, in the place of what is there."""
    from safetensors.torch import save_file

    beside = file.with_name(f".{file.name}.new")
    save_file({name: each.detach().cpu().contiguous() for name, each in prompt.learned().items()}, beside)
    beside.replace(file)


def read_learned(prompt: "SoftPrompt", file: Path) -> None:
    """Put the learned parts of a file into a prompt of the same shape; MissingPart where they are not of it."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(file)
    except (OSError, SafetensorError) as error:
        raise MissingPart(f"{file} cannot be read: {error}") from error
    parts = prompt.learned()
    shapes = {name: tuple(each.shape) for name, each in parts.items()}
    if shapes != {name: tuple(each.shape) for name, each in found.items()}:
        raise MissingPart(f"{file} holds other learned parts than its settings say")
    with torch.no_grad():
        for name, each in parts.items():
            each.copy_(found[name])


def read_made(folder: Path) -> Made:
    """Return what `conspectus train gretriever` left in a folder; MissingPart where it did not."""
    try:
        held = TypeAdapter(dict[str, Any]).validate_json((folder / REPORT).read_bytes())
        return TypeAdapter(Made).validate_python(held["made"])
    except FileNotFoundError as error:
        raise MissingPart(f"{folder} holds no {REPORT}; `conspectus train gretriever` makes one") from error
    except (OSError, KeyError, ValidationError) as error:
        raise MissingPart(f"{folder / REPORT} cannot be read: {' '.join(str(error).split())[:200]}") from error


def as_rows(made: Made) -> dict[str, object]:
    """Return it as the JSON that `read_made` reads."""
    return asdict(made)


def open_trained(folder: Path, model: FrozenModel, made: Made) -> "SoftPrompt":
    """Return the prompt of a folder over its frozen model, ready to write; MissingPart where the model is another."""
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

    if model.signature != made.signature:
        raise MissingPart(f"{folder} was trained over {made.model}, and {model.name} is another model now")
    prompt = SoftPrompt(model, made.shape, made.encoding_width)
    read_learned(prompt, folder / LEARNED)
    prompt.eval()
    return prompt
