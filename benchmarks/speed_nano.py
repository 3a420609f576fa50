"""nano-graphrag over the same passages and the same server, for benchmarks/speed.py; run by a Python that has it.

    python benchmarks/speed_nano.py URL CORPUS.jsonl FOLDER

Its defaults, but 32 concurrent calls and embeddings from the server. Its tokenizer (tiktoken) needs a download and is
replaced by a count of bytes, four to a token; each passage is shorter than a chunk.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

URL, CORPUS, FOLDER = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
os.environ.update(OPENAI_BASE_URL=URL, OPENAI_API_KEY="none")

import numpy as np
import openai
import tiktoken

BYTES = tiktoken.Encoding("bytes", pat_str=".", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
tiktoken.encoding_for_model = lambda name: BYTES

from nano_graphrag import GraphRAG
from nano_graphrag._utils import wrap_embedding_func_with_attrs

DIMENSIONS = 384
client = openai.AsyncOpenAI()


@wrap_embedding_func_with_attrs(embedding_dim=DIMENSIONS, max_token_size=8192)
async def embed(texts: list[str]) -> np.ndarray:
    """Return vectors of texts from the server."""
    found = await client.embeddings.create(model="e", input=texts, encoding_format="float")
    return np.array([item.embedding for item in found.data])


def main() -> None:
    """Index the corpus and print time and memory."""
    texts = [json.loads(line)["text"] for line in CORPUS.read_text("utf-8").splitlines()]
    began, cpu = time.perf_counter(), time.process_time()
    made = GraphRAG(
        working_dir=FOLDER,
        chunk_token_size=4 * 1200,
        chunk_overlap_token_size=4 * 100,
        best_model_max_token_size=4 * 32768,
        cheap_model_max_token_size=4 * 32768,
        entity_summary_to_max_tokens=4 * 500,
        best_model_max_async=32,
        cheap_model_max_async=32,
        embedding_func_max_async=32,
        embedding_func=embed,
    )
    made.insert(texts)
    took = {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "chunks": len(json.loads((Path(FOLDER) / "kv_store_text_chunks.json").read_text("utf-8"))),
        "entities": made.chunk_entity_relation_graph._graph.number_of_nodes(),
        "reports": len(json.loads((Path(FOLDER) / "kv_store_community_reports.json").read_text("utf-8"))),
    }
    print(json.dumps(took))


main()
