"""The sections on training G-Retriever's soft graph prompt, and on inference with it."""

from typing import Literal

from conspectus.storage.settings.base import Section
from pydantic import BaseModel, Field, model_validator


class TrainGRetrieverSettings(Section):
    """Training a soft graph prompt over a frozen causal model: G-Retriever, its variants and ablations."""

    encoder: Literal["graph_transformer", "gat", "gcn", "none"] = Field(
        "graph_transformer", description="network that makes one token of a graph; `none`: learned tokens instead"
    )
    layers: int = Field(4, ge=1, description="its layers")
    heads: int = Field(4, ge=1, description="its attention heads (gcn has none)")
    width: int = Field(1024, ge=1, description="its numbers a node")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of its activations that are dropped while it learns")
    projector: bool = Field(True, description="a learned step from the encoder's width to the model's; without: none")
    soft_tokens: int = Field(10, ge=0, description="with the encoder `none`: learned tokens before the text")
    text: bool = Field(True, description="whether the graph's text stands in the prompt; without: GraphToken")
    retrieval: bool = Field(True, description="whether graphs are cut to what a question needs (see gretriever)")
    lora: bool = Field(False, description="whether low-rank matrices inside the model learn, too; its own stay frozen")
    lora_dropout: float = Field(0.05, ge=0, lt=1, description="share of their input that is dropped while they learn")
    text_tokens: int = Field(512, ge=16, description="most tokens of the graph's text and the question together")
    answer_tokens: int = Field(32, ge=1, description="most tokens of an answer, its end among them")
    learning_rate: float = Field(1e-5, gt=0, description="AdamW's largest step")
    warm_up: float = Field(1.0, ge=0, description="epochs in which the step rises; then it falls by half a cosine")
    epochs: int = Field(10, ge=1, description="most passes over the questions")
    patience: int = Field(2, ge=1, description="epochs without a smaller validation loss after which training ends")
    batch: int = Field(4, ge=1, description="questions in a step")
    seed: int = Field(0, ge=0, description="seed of the first run")
    seeds: int = Field(4, ge=1, description="runs, each with the next seed; the report has mean and deviation")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where the frozen model runs; `auto`: on CUDA where there is a device, else on the CPU"
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="numbers of the frozen model; `auto`: bfloat16 on a CUDA device that has it, else float32"
    )

    @model_validator(mode="after")
    def _something_learns(self) -> "TrainGRetrieverSettings":
        if self.encoder == "none" and not self.soft_tokens and not self.lora:
            raise ValueError("nothing would learn: encoder is none, soft_tokens 0 and lora false")
        return self


class TrainingSections(BaseModel):
    """The sections on training."""

    train_gretriever: TrainGRetrieverSettings = TrainGRetrieverSettings()
