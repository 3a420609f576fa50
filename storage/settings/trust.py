"""The sections on what may be read, and on what an answer must rest on."""

from typing import Literal

from conspectus.storage.settings.base import Section
from pydantic import Field


class CitationSettings(Section):
    """How the citations of an answer are checked, sentence by sentence."""

    unsupported: Literal["mark", "drop", "keep"] = Field(
        "mark",
        description="what becomes of a sentence that nothing it cites supports: it is marked [unverified], left out, "
        "or kept as it is; it is counted in each case",
    )
    threshold: float = Field(
        0.6, ge=-1, le=1, description="least cosine of a sentence with what it cites (of the packaged encoder)"
    )
    ask_model: bool = Field(
        False,
        description="with a model: it judges, in a call for each sentence, whether what is cited supports it, in the "
        "place of the cosine",
    )


class AccessSettings(Section):
    """Which documents a question may be answered from, where they carry access tags."""

    key: str = Field("access", min_length=1, description="metadata key (a column of the input) that holds the tags")
    untagged: Literal["public", "denied"] = Field(
        "public", description="whether documents without a tag are for everybody or for nobody"
    )
    unasked: Literal["all", "untagged"] = Field(
        "all",
        description="where no tag is named: every document, or only those that a holder of no tag may read",
    )
    graph: Literal["public", "denied"] = Field(
        "public",
        description="whether what a graph alone states, which no document does, is for everybody or for nobody",
    )
