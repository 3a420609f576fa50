"""Checkpoints of soft graph prompts: parameters in safetensors, metadata in JSON; no pickle."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel
from conspectus.storage.errors import MissingPart, SettingsError
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

SEPARATOR = "|"
"""Separator of several answers in a model's output."""

Encoder = Literal["graph_transformer", "gat", "gcn", "none"]
_COUNTED = ("layers", "heads", "width", "lora_rank", "text_tokens", "answer_tokens")
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class SoftShape:
    """The trained parts before (and, with LoRA, inside) a frozen causal model, and the sizes of its input and output.

    Defaults are G-Retriever's (He et al. 2024, appendix B.1). The paper's variants are:

        prompt tuning, and without the encoder    encoder none (10 soft tokens)
        GraphToken's, and without the text        text False
        without the projector                     projector False
        with LoRA                                 lora True
        LoRA alone                                lora True, encoder none, soft_tokens 0

    Attributes:
        encoder: The graph encoder, which turns a graph into one token; `none` for learned tokens.
        layers: Its layers.
        heads: Its attention heads.
        width: Its hidden size.
        dropout: Its dropout.
        projector: Whether a network projects to the model's width; otherwise the last layer has that width.
        soft_tokens: With the encoder `none`: number of learned tokens, the same for every graph.
        text: Whether the prompt includes the graph as text.
        lora: Whether low-rank matrices in the model are trained.
        lora_rank: Their rank.
        lora_alpha: Their scale.
        lora_dropout: Their dropout.
        text_tokens: Maximum tokens of the graph's text and the question.
        answer_tokens: Maximum tokens of an answer.

    Raises:
        SettingsError: A number is out of range.
    """

    encoder: Encoder = "graph_transformer"
    layers: int = 4
    heads: int = 4
    width: int = 1024
    dropout: float = 0.0
    projector: bool = True
    soft_tokens: int = 10
    text: bool = True
    lora: bool = False
    lora_rank: int = 8
    lora_alpha: int = 16
    lora_dropout: float = 0.05
    text_tokens: int = 512
    answer_tokens: int = 32

    def __post_init__(self) -> None:
        """Reject numbers out of range: those of a checkpoint come from a file."""
        least = {"soft_tokens": 0, "lora_alpha": 1} | dict.fromkeys(_COUNTED, 1)
        for name, low in least.items():
            if not low <= getattr(self, name) <= _MOST:
                raise SettingsError(f"a soft prompt has {name} from {low} to {_MOST:,}, not {getattr(self, name)}")
        for name in ("dropout", "lora_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"a soft prompt has {name} from 0 to less than 1, not {getattr(self, name)}")

    @property
    def learns(self) -> bool:
        """Whether anything is trained."""
        return self.encoder != "none" or self.soft_tokens > 0 or self.lora


REPORT = "gretriever.json"
LEARNED = "learned.safetensors"


@dataclass(frozen=True, slots=True)
class PromptMetadata:
    """The frozen model of a trained prompt with its signature, and the encoder of nodes and edges."""

    model: str
    signature: str
    embedder: str
    encoding_width: int
    shape: SoftShape

    def __post_init__(self) -> None:
        """Raise ValueError for an invalid width."""
        if self.encoding_width < 1:
            raise ValueError(f"encodings are {self.encoding_width} wide")


def write_learned(prompt: "SoftPrompt", file: Path) -> None:
    """Write the trained parameters, replacing the file."""
    from safetensors.torch import save_file

    beside = file.with_name(f".{file.name}.new")
    save_file({name: value.detach().cpu().contiguous() for name, value in prompt.learned().items()}, beside)
    beside.replace(file)


def read_learned(prompt: "SoftPrompt", file: Path) -> None:
    """Load the trained parameters of a file into a prompt.

    Raises:
        MissingPart: The file belongs to a prompt of another shape."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        found = load_file(file)
    except (OSError, SafetensorError) as error:
        raise MissingPart(f"{file} cannot be read: {error}") from error
    parts = prompt.learned()
    shapes = {name: tuple(part.shape) for name, part in parts.items()}
    if shapes != {name: tuple(result.shape) for name, result in found.items()}:
        raise MissingPart(f"{file} has other parameters than its settings imply")
    with torch.no_grad():
        for name, item in parts.items():
            item.copy_(found[name])


def read_made(folder: Path) -> PromptMetadata:
    """Return the metadata that `conspectus train gretriever` wrote to a folder.

    Raises:
        MissingPart: There is no metadata."""
    try:
        held = TypeAdapter(dict[str, Any]).validate_json((folder / REPORT).read_bytes())
        return TypeAdapter(PromptMetadata).validate_python(held["made"])
    except FileNotFoundError as error:
        raise MissingPart(f"{folder} contains no {REPORT}; `conspectus train gretriever` creates one") from error
    except (OSError, KeyError, ValidationError) as error:
        raise MissingPart(f"{folder / REPORT} cannot be read: {' '.join(str(error).split())[:200]}") from error


def open_trained(folder: Path, model: FrozenModel, made: PromptMetadata) -> "SoftPrompt":
    """Return the prompt of a folder with its frozen model.

    Raises:
        MissingPart: The model is not the one of the training."""
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

    if model.signature != made.signature:
        raise MissingPart(f"{folder} was trained with {made.model}, and {model.name} is now another model")
    prompt = SoftPrompt(model, made.shape, made.encoding_width)
    read_learned(prompt, folder / LEARNED)
    prompt.eval()
    return prompt
