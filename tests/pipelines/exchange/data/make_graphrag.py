# ruff: noqa: E501  (a row is a line)
"""Write the tables in `graphrag/`: a small index of our own text in the schema of Microsoft GraphRAG 3.

    python tests/pipelines/exchange/data/make_graphrag.py

The text, the entities and the reports were written for this project; columns, types and habits (upper-case names, ids,
marks like `[Data: Entities (3)]`, NONE, relationships of which an end is missing) are those of GraphRAG's tables.
"""

import hashlib
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent / "graphrag"
PERIOD, TITLE = "2026-11-22", "the-loss-of-the-grey-petrel.txt"

CHUNKS = [
    """On the morning of the fourteenth of November 1911 the steamer Grey Petrel lay at the quay of Brennick with her mail
on board. Captain Tobias Renn, who had crossed to Vey more than two thousand times, looked at the sky and did not like
it. But the Skerran Packet Line had a rule: a packet sails on Tuesdays and Fridays at two, whatever the weather.
Magnus Hask had made that rule himself, and Renn was not the man to break it.

Among the sixty-four people on board was Anselm Roke, the poet, on his way home from a reading. He had a seat in the
saloon beside a girl with a parrot. Two days earlier Ilse Varn of the Tidal Institute had written to the harbour office
that a storm at spring tide would bring a flood. The letter lay in a tray. Nobody had opened it.""",
    """The Great Surge reached the northern cape of Vey after dark. At seven minutes past four in the morning the Grey Petrel
struck the rock called the Widow, the largest of the Teeth, and broke in two. At Sundry Light the clockwork of the lamp
had stopped, and Henrik Sallow turned it by hand, as he was to do for eleven hours.

His wife Greta Sallow saw the rockets. The coxswain of the lifeboat Constant Anna was ill; she took his place, with six
fishermen, a baker and the baker's son. They rowed out three times. They brought back twenty-three people, and the
parrot. Anselm Roke had given his place in the boat to the girl. Captain Renn was seen on the bridge to the last.""",
    """In February 1912 an inquiry sat in Brennick under the judge Helena Stroud. The Renn Inquiry heard seventy witnesses in
nineteen days. A young reporter of the Brennick Courier, Mina Crake, sat through all of them, and it was she who asked
the clerk of the harbour office, on the steps, whether he read his letters.

Stroud found that Tobias Renn had done nothing wrong. She found that Ilse Varn's warning had been received, and that it
had not been read. From then on a captain could stay in harbour without giving a reason, and the Tidal Institute
telephoned. Magnus Hask sold his house and paid a pension to the family of everyone who had drowned. Edda Marsh, who had
designed the ship, would not let its name be used again for fifteen years.""",
]
TEXT = "\ufeffThe Loss of the Grey Petrel\n\n" + "\n\n".join(CHUNKS) + "\n"

# Title, type, description, chunks.
ENTITIES = [
    ("GREY PETREL", "ORGANIZATION", "The Grey Petrel was a steamer of the Skerran Packet Line that was wrecked on the Teeth in 1911.", (0, 1)),
    ("BRENNICK", "GEO", "Brennick is the harbour from which the Grey Petrel sailed and the town in which the inquiry sat.", (0, 2)),
    ("TOBIAS RENN", "PERSON", "Captain Tobias Renn was master of the Grey Petrel. He stayed on the bridge to the last and was cleared by the inquiry.", (0, 1, 2)),
    ("VEY", "GEO", "Vey is the island to which the Grey Petrel was bound.", (0, 1)),
    ("SKERRAN PACKET LINE", "ORGANIZATION", "The Skerran Packet Line was the shipping company that owned the Grey Petrel.", (0,)),
    ("MAGNUS HASK", "PERSON", "Magnus Hask was the owner of the Skerran Packet Line. He made the rule to sail in any weather and later paid pensions.", (0, 2)),
    ("ANSELM ROKE", "PERSON", "Anselm Roke was a poet who gave his place in the lifeboat to a girl and drowned.", (0, 1)),
    ("ILSE VARN", "PERSON", "Ilse Varn of the Tidal Institute predicted the flood and warned the harbour office by letter.", (0, 2)),
    ("TIDAL INSTITUTE", "ORGANIZATION", "The Tidal Institute studies the tides. After 1912 it gave its warnings by telephone.", (0, 2)),
    ("HARBOUR OFFICE", "ORGANIZATION", "The harbour office of Brennick received the warning and did not open it.", (0, 2)),
    ("GREAT SURGE", "EVENT", "The Great Surge was the storm flood of November 1911.", (1,)),
    ("THE WIDOW", "GEO", "The Widow is the largest rock of the reef called the Teeth.", (1,)),
    ("THE TEETH", "GEO", "The Teeth are a reef off the northern cape of Vey.", (1,)),
    ("SUNDRY LIGHT", "GEO", "Sundry Light is the lighthouse whose clockwork stopped in the night of the Great Surge.", (1,)),
    ("HENRIK SALLOW", "PERSON", "Henrik Sallow was the keeper who turned the lamp of Sundry Light by hand.", (1,)),
    ("GRETA SALLOW", "PERSON", "Greta Sallow took the place of the coxswain and saved twenty-three people.", (1,)),
    ("CONSTANT ANNA", "ORGANIZATION", "The Constant Anna was the lifeboat that rowed out three times.", (1,)),
    ("HELENA STROUD", "PERSON", "Helena Stroud was the judge of the Renn Inquiry.", (2,)),
    ("RENN INQUIRY", "EVENT", "The Renn Inquiry of 1912 examined the loss of the Grey Petrel.", (2,)),
    ("MINA CRAKE", "PERSON", "Mina Crake was a young reporter who sat through the whole inquiry.", (2,)),
    ("BRENNICK COURIER", "ORGANIZATION", "The Brennick Courier is the newspaper for which Mina Crake wrote.", (2,)),
    ("EDDA MARSH", "PERSON", "Edda Marsh designed the Grey Petrel.", (2,)),
]  # fmt: skip

# Source, target, description, strength, chunks. THE GIRL and THE CLERK are no entities.
RELATIONSHIPS = [
    ("TOBIAS RENN", "GREY PETREL", "Tobias Renn was captain of the Grey Petrel.", 18.0, (0, 1)),
    ("GREY PETREL", "BRENNICK", "The Grey Petrel sailed from Brennick.", 7.0, (0,)),
    ("GREY PETREL", "VEY", "The Grey Petrel carried mail to Vey.", 7.0, (0,)),
    ("SKERRAN PACKET LINE", "GREY PETREL", "The Skerran Packet Line owned the Grey Petrel.", 9.0, (0,)),
    ("MAGNUS HASK", "SKERRAN PACKET LINE", "Magnus Hask made the rules of the Skerran Packet Line.", 9.0, (0,)),
    ("TOBIAS RENN", "SKERRAN PACKET LINE", "Tobias Renn obeyed the rule of the Skerran Packet Line.", 6.0, (0,)),
    ("ANSELM ROKE", "GREY PETREL", "Anselm Roke was a passenger of the Grey Petrel and drowned in the wreck.", 16.0, (0, 1)),
    ("ANSELM ROKE", "THE GIRL", "Anselm Roke gave his place to the girl with the parrot.", 8.0, (0, 1)),
    ("ILSE VARN", "TIDAL INSTITUTE", "Ilse Varn worked at the Tidal Institute.", 8.0, (0,)),
    ("ILSE VARN", "HARBOUR OFFICE", "Ilse Varn warned the harbour office in a letter that nobody opened.", 17.0, (0, 2)),
    ("GREAT SURGE", "VEY", "The Great Surge reached the northern cape of Vey after dark.", 7.0, (1,)),
    ("GREY PETREL", "THE WIDOW", "The Grey Petrel struck the Widow and broke in two.", 10.0, (1,)),
    ("THE WIDOW", "THE TEETH", "The Widow is one of the Teeth.", 9.0, (1,)),
    ("HENRIK SALLOW", "SUNDRY LIGHT", "Henrik Sallow turned the lamp of Sundry Light by hand for eleven hours.", 10.0, (1,)),
    ("HENRIK SALLOW", "GRETA SALLOW", "Henrik and Greta Sallow were husband and wife.", 8.0, (1,)),
    ("GRETA SALLOW", "CONSTANT ANNA", "Greta Sallow was coxswain of the Constant Anna in that night.", 10.0, (1,)),
    ("CONSTANT ANNA", "GREY PETREL", "The Constant Anna saved twenty-three people from the Grey Petrel.", 10.0, (1,)),
    ("GREAT SURGE", "GREY PETREL", "The Grey Petrel was lost in the Great Surge.", 8.0, (1,)),
    ("HELENA STROUD", "RENN INQUIRY", "Helena Stroud presided over the Renn Inquiry.", 9.0, (2,)),
    ("RENN INQUIRY", "BRENNICK", "The Renn Inquiry sat in Brennick.", 6.0, (2,)),
    ("RENN INQUIRY", "TOBIAS RENN", "The Renn Inquiry found that Tobias Renn had done nothing wrong.", 10.0, (2,)),
    ("MINA CRAKE", "BRENNICK COURIER", "Mina Crake reported for the Brennick Courier.", 8.0, (2,)),
    ("MINA CRAKE", "RENN INQUIRY", "Mina Crake sat through all nineteen days of the Renn Inquiry.", 7.0, (2,)),
    ("MINA CRAKE", "THE CLERK", "Mina Crake asked the clerk whether he read his letters.", 7.0, (2,)),
    ("HELENA STROUD", "ILSE VARN", "Helena Stroud found that Ilse Varn's warning had been received.", 7.0, (2,)),
    ("MAGNUS HASK", "GREY PETREL", "Magnus Hask paid a pension to the families of those who drowned.", 8.0, (2,)),
    ("EDDA MARSH", "GREY PETREL", "Edda Marsh designed the Grey Petrel and guarded its name.", 9.0, (2,)),
]  # fmt: skip

# Number, level, parent, members.
COMMUNITIES = [
    (0, 0, -1, ("GREY PETREL", "TOBIAS RENN", "SKERRAN PACKET LINE", "MAGNUS HASK", "ANSELM ROKE", "EDDA MARSH", "VEY", "THE WIDOW", "THE TEETH", "GREAT SURGE", "CONSTANT ANNA", "GRETA SALLOW", "HENRIK SALLOW", "SUNDRY LIGHT")),
    (1, 0, -1, ("ILSE VARN", "TIDAL INSTITUTE", "HARBOUR OFFICE", "HELENA STROUD", "RENN INQUIRY", "MINA CRAKE", "BRENNICK COURIER", "BRENNICK")),
    (2, 1, 0, ("GREY PETREL", "TOBIAS RENN", "SKERRAN PACKET LINE", "MAGNUS HASK", "ANSELM ROKE", "EDDA MARSH", "VEY", "GREAT SURGE")),
    (3, 1, 0, ("CONSTANT ANNA", "GRETA SALLOW", "HENRIK SALLOW", "SUNDRY LIGHT")),
    (4, 1, 0, ("THE WIDOW", "THE TEETH")),
    (5, 1, 1, ("ILSE VARN", "TIDAL INSTITUTE", "HARBOUR OFFICE")),
    (6, 1, 1, ("HELENA STROUD", "RENN INQUIRY", "MINA CRAKE", "BRENNICK COURIER", "BRENNICK")),
]  # fmt: skip

# Community, title, summary, rating, why, findings (summary, explanation).
REPORTS = [
    (
        0, "The wreck of the Grey Petrel", "The community is about the steamer Grey Petrel, those who sailed in her and those who saved them.",
        9.0, "The impact severity rating is very high because forty-one people died.",
        [
            ("Captain Renn and the rule of the line", "Tobias Renn sailed because the Skerran Packet Line sailed in any weather [Data: Entities (2, 4); Relationships (0, 5)]. The rule had been made by Magnus Hask [Data: Relationships (4)]."),
            ("The rescue", "Greta Sallow took the place of the coxswain and brought back twenty-three people in the Constant Anna [Data: Entities (15, 16); Relationships (15, 16)]."),
            ("The poet", "Anselm Roke gave his place in the boat to a girl [Data: Entities (6); Relationships (6, 7)]."),
        ],
    ),
    (
        1, "The warning and the inquiry", "The community is about a warning that was not read and an inquiry that found this out.",
        8.0, "The rating is high because the inquiry changed the rules of the harbour.",
        [
            ("A letter in a tray", "Ilse Varn warned the harbour office two days before [Data: Entities (7, 9); Relationships (9)]."),
            ("Findings of Helena Stroud", "The judge cleared the captain and found that the warning had been received [Data: Entities (17, 18); Relationships (18, 20, 24); Claims (4, 5)]."),
            ("The press", "Mina Crake of the Brennick Courier sat through all nineteen days [Data: Entities (19, 20); Relationships (21, 22)]."),
        ],
    ),
    (
        3, "Sundry Light and the Constant Anna", "Husband and wife, Henrik and Greta Sallow kept the light and steered the lifeboat.",
        8.5, "The rating is high because many lives were saved.",
        [
            ("Eleven hours at the lamp", "Henrik Sallow turned the lamp by hand when the clockwork had stopped [Data: Entities (13, 14); Relationships (13)]."),
            ("A crew of nine", "A baker and his son rowed with six fishermen [Data: Sources (1); Relationships (15, +more)]."),
        ],
    ),
    (
        5, "Ilse Varn and the Tidal Institute", "Ilse Varn predicted the flood; her letter was not opened.",
        7.5, "The rating is high because the warning could have saved the ship.",
        [
            ("A prediction", "Ilse Varn wrote that a storm at spring tide would bring a flood [Data: Entities (7); Claims (2)]."),
            ("The telephone", "From 1912 on the Tidal Institute telephoned [Data: Entities (8)]."),
        ],
    ),
]  # fmt: skip

# Type, description, subject, object, status, start, end, quotation, chunk.
CLAIMS = [
    ("DUTY", "Tobias Renn sailed although he did not like the sky.", "TOBIAS RENN", "SKERRAN PACKET LINE", "TRUE", "1911-11-14", "1911-11-14", "looked at the sky and did not like", 0),
    ("RULE", "The packet sails whatever the weather.", "SKERRAN PACKET LINE", "NONE", "TRUE", "NONE", "NONE", "a packet sails on Tuesdays and Fridays at two, whatever the weather", 0),
    ("PREDICTION", "Ilse Varn predicted the flood.", "ILSE VARN", "HARBOUR OFFICE", "TRUE", "1911-11-12", "NONE", "a storm at spring tide would bring a flood", 0),
    ("RESCUE", "Greta Sallow saved twenty-three people.", "GRETA SALLOW", "GREY PETREL", "TRUE", "1911-11-15", "1911-11-15", "They brought back twenty-three people", 1),
    ("FINDING", "The captain had done nothing wrong.", "TOBIAS RENN", "NONE", "FALSE", "1912-02-01", "NONE", "Stroud found that Tobias Renn had done nothing wrong.", 2),
    ("NEGLIGENCE", "The harbour office did not read the warning.", "HARBOUR OFFICE", "ILSE VARN", "SUSPECTED", "1911-11-12", "1911-11-14", "it\nhad not been read", 2),
]  # fmt: skip


def identity(*parts: object) -> str:
    """Return an id for a row, always the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


def long_identity(text: str) -> str:
    """Return an id as GraphRAG gives texts."""
    return hashlib.sha512(text.encode()).hexdigest()


ENTITY_ID = {title: identity("entity", title) for title, *_ in ENTITIES}
RELATION_IDS = [identity("relationship", source, target) for source, target, *_ in RELATIONSHIPS]
CHUNK_IDS = [long_identity(chunk) for chunk in CHUNKS]
CLAIM_IDS = [identity("claim", *claim[:4]) for claim in CLAIMS]
DOCUMENT_ID = long_identity(TEXT)
DEGREE = {title: sum(title in pair[:2] for pair in RELATIONSHIPS) for title, *_ in ENTITIES}


def chunks_of(places: tuple[int, ...]) -> list[str]:
    """Return the ids of chunks."""
    return [CHUNK_IDS[place] for place in places]


def entities() -> list[dict[str, Any]]:
    """Return the rows of entities.parquet."""
    return [
        {"id": ENTITY_ID[title], "human_readable_id": number, "title": title, "type": kind, "description": description,
         "text_unit_ids": chunks_of(places), "frequency": len(places), "degree": DEGREE[title]}
        for number, (title, kind, description, places) in enumerate(ENTITIES)
    ]  # fmt: skip


def relationships() -> list[dict[str, Any]]:
    """Return the rows of relationships.parquet."""
    return [
        {"id": RELATION_IDS[number], "human_readable_id": number, "source": source, "target": target,
         "description": description, "weight": weight,
         "combined_degree": DEGREE.get(source, 1) + DEGREE.get(target, 1), "text_unit_ids": chunks_of(places)}
        for number, (source, target, description, weight, places) in enumerate(RELATIONSHIPS)
    ]  # fmt: skip


def communities() -> list[dict[str, Any]]:
    """Return the rows of communities.parquet."""
    rows = []
    for number, level, parent, members in COMMUNITIES:
        inside = [place for place, pair in enumerate(RELATIONSHIPS) if {*pair[:2]} <= {*members}]
        places = sorted({place for relation in inside for place in RELATIONSHIPS[relation][4]})
        rows.append(
            {"id": identity("community", number), "human_readable_id": number, "community": number, "level": level,
             "parent": parent, "children": [other for other, _, above, _ in COMMUNITIES if above == number],
             "title": f"Community {number}", "entity_ids": [ENTITY_ID[title] for title in members],
             "relationship_ids": [RELATION_IDS[place] for place in inside], "text_unit_ids": chunks_of(tuple(places)),
             "period": PERIOD, "size": len(members)}
        )  # fmt: skip
    return rows


def community_reports() -> list[dict[str, Any]]:
    """Return the rows of community_reports.parquet."""
    of = {row["community"]: row for row in communities()}
    rows = []
    for number, title, summary, rating, why, findings in REPORTS:
        content = "\n\n".join([f"# {title}", summary, *(f"## {head}\n\n{text}" for head, text in findings)])
        rows.append(
            {"id": uuid.UUID(identity("report", number)).hex, "human_readable_id": number, "community": number,
             **{key: of[number][key] for key in ("level", "parent", "children")},
             "title": title, "summary": summary, "full_content": content, "rank": rating, "rating_explanation": why,
             "findings": [{"explanation": text, "summary": head} for head, text in findings],
             "full_content_json": "{}", "period": PERIOD, "size": of[number]["size"]}
        )  # fmt: skip
    return rows


def covariates() -> list[dict[str, Any]]:
    """Return the rows of covariates.parquet."""
    return [
        {"id": CLAIM_IDS[number], "human_readable_id": number, "covariate_type": "claim", "type": kind,
         "description": description, "subject_id": subject, "object_id": object_, "status": status,
         "start_date": start, "end_date": end, "source_text": quote, "text_unit_id": CHUNK_IDS[place]}
        for number, (kind, description, subject, object_, status, start, end, quote, place) in enumerate(CLAIMS)
    ]  # fmt: skip


def text_units() -> list[dict[str, Any]]:
    """Return the rows of text_units.parquet."""
    return [
        {"id": CHUNK_IDS[place], "human_readable_id": place, "text": f"title: {TITLE}.\n{chunk}", "n_tokens": 190 + place,
         "document_id": DOCUMENT_ID,
         "entity_ids": [ENTITY_ID[row[0]] for row in ENTITIES if place in row[3]],
         "relationship_ids": [RELATION_IDS[number] for number, row in enumerate(RELATIONSHIPS) if place in row[4]],
         "covariate_ids": [CLAIM_IDS[number] for number, row in enumerate(CLAIMS) if row[8] == place]}
        for place, chunk in enumerate(CHUNKS)
    ]  # fmt: skip


def documents() -> list[dict[str, Any]]:
    """Return the row of documents.parquet."""
    return [
        {"id": DOCUMENT_ID, "human_readable_id": 0, "title": TITLE, "text": TEXT, "text_unit_ids": CHUNK_IDS,
         "creation_date": "2026-11-22 06:00:00 +0000", "raw_data": None}
    ]  # fmt: skip


TEXTS, NUMBERS = pa.list_(pa.string()), pa.list_(pa.int64())
TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("human_readable_id", "community", "level", "parent", "size", "frequency", "degree"), pa.int64()),
    **dict.fromkeys(("combined_degree", "n_tokens"), pa.int64()),
    **dict.fromkeys(("weight", "rank"), pa.float64()),
    **dict.fromkeys(("entity_ids", "relationship_ids", "text_unit_ids", "covariate_ids"), TEXTS),
    "children": NUMBERS,
    "findings": pa.list_(pa.struct([("explanation", pa.string()), ("summary", pa.string())])),
    "raw_data": pa.null(),
}


def main() -> None:
    """Write the tables."""
    HERE.mkdir(exist_ok=True)
    for rows in (entities, relationships, communities, community_reports, covariates, text_units, documents):
        made = rows()
        schema = pa.schema([(name, TYPES.get(name, pa.string())) for name in made[0]])
        pq.write_table(pa.Table.from_pylist(made, schema), HERE / f"{rows.__name__}.parquet")


if __name__ == "__main__":
    main()
