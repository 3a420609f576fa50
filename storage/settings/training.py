"""Settings of the training of G-Retriever's soft graph prompt."""

from typing import Literal

from conspectus.storage.settings.base import Sections, SettingsSection
from pydantic import Field, model_validator


class TrainGRetrieverSettings(SettingsSection):
    """Training a soft graph prompt for a frozen causal model: G-Retriever, its variants and ablations."""

    encoder: Literal["graph_transformer", "gat", "gcn", "none"] = Field(
        "graph_transformer", description="network that encodes a graph as one token; `none`: learned tokens instead"
    )
    width: int = Field(1024, ge=1, description="hidden size of the encoder")
    projector: bool = Field(True, description="learned projection from the encoder's width to the model's")
    soft_tokens: int = Field(10, ge=0, description="with the encoder `none`: number of learned tokens before the text")
    text: bool = Field(True, description="include the graph as text in the prompt; false: GraphToken")
    retrieval: bool = Field(True, description="retrieve a subgraph (see gretriever); false: use all")
    lora: bool = Field(False, description="train LoRA matrices, too; the model's own weights stay frozen")
    learning_rate: float = Field(1e-5, gt=0, description="peak learning rate of AdamW")
    epochs: int = Field(10, ge=1, description="maximum epochs")
    batch: int = Field(4, ge=1, description="questions per step")
    seeds: int = Field(4, ge=1, description="number of runs with consecutive seeds; the report has mean and deviation")

    @model_validator(mode="after")
    def _something_learns(self) -> "TrainGRetrieverSettings":
        if self.encoder == "none" and not self.soft_tokens and not self.lora:
            raise ValueError("nothing would be trained: encoder is none, soft_tokens 0 and lora false")
        return self


class TrainingSections(Sections):
    """Settings of training."""

    train_gretriever: TrainGRetrieverSettings = TrainGRetrieverSettings.model_construct()
