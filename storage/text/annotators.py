"""The annotator that the settings name: a spaCy pipeline, or the regular-expression fallback.

A pipeline made for one script is not asked about another (an English model finds nonsense in Chinese): texts in
other scripts go to the fallback, so names in any script survive.
"""

from conspectus.storage.text.nlp import Annotator
from conspectus.storage.text.regex_annotator import RegexAnnotator
from conspectus.storage.text.spacy_annotator import SpacyAnnotator


def open_annotator(pipeline: str, concepts: bool = True) -> Annotator:
    """Return the annotator that `extraction.pipeline` names; MissingPart where it is not installed."""
    return RegexAnnotator() if pipeline == "regex" else SpacyAnnotator(pipeline, concepts)
