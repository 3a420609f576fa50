"""Run by graphrag_reads.py with the Python of an environment that has Microsoft GraphRAG: reads a folder of tables.

    PYTHON graphrag_inside.py FOLDER

Prints one JSON object: what GraphRAG's own readers parse from each table, and what its own searches find in them. The
model is its mock, so answers mean nothing; only the context passed to it counts.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import pandas as pd
from graphrag import api
from graphrag.config.models.graph_rag_config import GraphRagConfig
from graphrag.data_model import dfs, schemas
from graphrag.query.indexer_adapters import (
    read_indexer_communities,
    read_indexer_covariates,
    read_indexer_entities,
    read_indexer_relationships,
    read_indexer_reports,
    read_indexer_text_units,
)
from graphrag_vectors import VectorStoreConfig, VectorStoreDocument, create_vector_store

COLUMNS = {
    "documents": schemas.DOCUMENTS_FINAL_COLUMNS,
    "text_units": schemas.TEXT_UNITS_FINAL_COLUMNS,
    "entities": schemas.ENTITIES_FINAL_COLUMNS,
    "relationships": schemas.RELATIONSHIPS_FINAL_COLUMNS,
    "communities": schemas.COMMUNITIES_FINAL_COLUMNS,
    "community_reports": schemas.COMMUNITY_REPORTS_FINAL_COLUMNS,
    "covariates": schemas.COVARIATES_FINAL_COLUMNS,
}
QUESTION = "What are the main themes?"
LEVEL = 2
MAP_REPLY = json.dumps({"points": [{"description": "A point [Data: Reports (1)]", "score": 80}]})


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables as GraphRAG types them; a missing or wrong column ends the program."""
    found = {}
    for name, columns in COLUMNS.items():
        if (folder / f"{name}.parquet").is_file():
            frame = getattr(dfs, f"{name}_typed")(pd.read_parquet(folder / f"{name}.parquet"))
            assert list(frame.columns) == columns, (name, list(frame.columns))
            found[name] = frame
    return found


def read(of: dict[str, pd.DataFrame]) -> dict[str, int]:
    """Return how many objects GraphRAG's readers parse from each table."""
    made = {
        "text_units": read_indexer_text_units(of["text_units"].copy()),
        "entities": read_indexer_entities(of["entities"].copy(), of["communities"].copy(), LEVEL),
        "relationships": read_indexer_relationships(of["relationships"].copy()),
        "communities": read_indexer_communities(of["communities"].copy(), of["community_reports"].copy()),
        "community_reports": read_indexer_reports(of["community_reports"].copy(), of["communities"].copy(), LEVEL),
    }
    if "covariates" in of:
        made["covariates"] = read_indexer_covariates(of["covariates"].copy())
    return {name: len(objects) for name, objects in made.items()}


def config(folder: Path, work: Path, reply: str) -> GraphRagConfig:
    """Return a configuration with mock models, over a vector store filled from the folder's embeddings."""
    sizes = []
    for name in ("entity_description", "text_unit_text", "community_full_content"):
        frame = pd.read_parquet(folder / f"embeddings.{name}.parquet")
        sizes.append(len(frame["embedding"].iloc[0]) if len(frame) else 1)
    mock = {"type": "mock", "model_provider": "openai", "model": "gpt-4o"}
    told = {**mock, "type": "litellm", "api_key": "none"}  # LiteLLM returns a mocked reply without a call
    vector = [
        float(item) for item in pd.read_parquet(folder / "embeddings.entity_description.parquet")["embedding"].iloc[0]
    ]
    store = {"type": "lancedb", "db_uri": str(work / "lancedb"), "vector_size": max(sizes)}
    made = GraphRagConfig(
        completion_models={"default_completion_model": {**told, "call_args": {"mock_response": reply}}},
        embedding_models={"default_embedding_model": {**mock, "mock_responses": vector}},
        vector_store=store,
        output_storage={"type": "file", "base_dir": str(folder)},
        reporting={"type": "file", "base_dir": str(work / "logs")},
    )
    for name in ("entity_description", "text_unit_text", "community_full_content"):
        fill(made.vector_store, name, pd.read_parquet(folder / f"embeddings.{name}.parquet"))
    return made


def fill(settings: VectorStoreConfig, name: str, frame: pd.DataFrame) -> None:
    """Put a table of embeddings into GraphRAG's vector store."""
    store = create_vector_store(settings, settings.index_schema[name])
    store.connect()
    store.create_index()
    rows = zip(frame["id"], frame["embedding"], strict=True)
    store.load_documents([VectorStoreDocument(id=id_, vector=list(vector)) for id_, vector in rows])


async def search(folder: Path, of: dict[str, pd.DataFrame]) -> dict[str, dict[str, int]]:
    """Return, for each of GraphRAG's searches, how many records of each kind are in its context."""
    found = {}
    frames = {name: of[name] for name in ("entities", "communities", "community_reports")}
    wider = {**frames, "text_units": of["text_units"], "relationships": of["relationships"]}
    common = {"response_type": "a paragraph", "query": QUESTION}
    with tempfile.TemporaryDirectory() as work:
        mapped = config(folder, Path(work), MAP_REPLY)
        _, context = await api.global_search(
            config=mapped,
            **{name: frame.copy() for name, frame in frames.items()},
            community_level=LEVEL,
            dynamic_community_selection=False,
            **common,
        )
        found["global"] = counted(context)
        _, context = await api.local_search(
            config=mapped,
            **{name: frame.copy() for name, frame in wider.items()},
            covariates=of["covariates"].copy() if "covariates" in of else None,
            community_level=LEVEL,
            **common,
        )
        found["local"] = counted(context)
        _, context = await api.basic_search(config=mapped, text_units=of["text_units"].copy(), **common)
        found["basic"] = counted(context)
    return found


def counted(context: object) -> dict[str, int]:
    """Return how many records of each kind are in a context."""
    assert isinstance(context, dict), type(context)
    return {name: len(frame) for name, frame in context.items()}


def main() -> None:
    """Read, search, and print the result."""
    folder = Path(sys.argv[1])
    of = tables(folder)
    done = {
        "rows": {name: len(frame) for name, frame in of.items()},
        "read": read(of),
        "searches": asyncio.run(search(folder, of)),
    }
    print(json.dumps(done))


if __name__ == "__main__":
    main()
