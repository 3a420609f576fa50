"""What a soft graph prompt is made of: the numbers that stand in its checkpoint."""

from dataclasses import dataclass
from typing import Literal

from conspectus.storage.errors import SettingsError

SEPARATOR = "|"
"""Between several answers, where a model writes them one behind the other."""

Encoder = Literal["graph_transformer", "gat", "gcn", "none"]
_COUNTED = ("layers", "heads", "width", "lora_rank", "text_tokens", "answer_tokens")
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class SoftShape:
    """The learned parts before (and, with LoRA, inside) a frozen causal model, and how much text that is given.

    `encoder`, of `layers` layers of `heads` heads and `width` numbers a node, makes one token of a graph; `projector`
    is the network from there to the model's width, without which the last layer has that width itself. With the
    encoder `none` there are `soft_tokens` learned tokens that are the same for every graph. `text` says whether the
    graph's tables stand in the prompt. `text_tokens` bounds these and the question together, `answer_tokens` what is
    written. Defaults are G-Retriever's (He et al. 2024, appendix B.1). Its other settings are these numbers:

        prompt tuning, and without the encoder    encoder none (10 soft tokens)
        GraphToken's, and without the text        text False
        without the projector                     projector False
        with LoRA                                 lora True
        LoRA alone                                lora True, encoder none, soft_tokens 0

    SettingsError where a number is none that such a network can have.
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
        """Refuse numbers that cannot be: a checkpoint's come out of a file."""
        least = {"soft_tokens": 0, "lora_alpha": 1} | dict.fromkeys(_COUNTED, 1)
        for name, low in least.items():
            if not low <= getattr(self, name) <= _MOST:
                raise SettingsError(f"a soft prompt has {name} from {low} to {_MOST:,}, not {getattr(self, name)}")
        for name in ("dropout", "lora_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"a soft prompt has {name} from 0 to less than 1, not {getattr(self, name)}")

    @property
    def learns(self) -> bool:
        """Whether anything is learned at all."""
        return self.encoder != "none" or self.soft_tokens > 0 or self.lora
