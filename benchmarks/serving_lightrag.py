"""LightRAG's server for benchmarks/serving.py, run by a Python that has `lightrag-hku[api]`.

    python benchmarks/serving_lightrag.py MODEL_URL FOLDER PORT

Its defaults, with models and vectors from one server. Its tokenizer (tiktoken) needs a download and is replaced by a
count of bytes, so the sizes of chunks and of their overlap are given in bytes, four to a token.
"""

import os
import sys

URL, FOLDER, PORT = sys.argv[1], sys.argv[2], sys.argv[3]
os.environ.update(
    LLM_BINDING="openai",
    LLM_MODEL="m",
    LLM_BINDING_HOST=URL,
    LLM_BINDING_API_KEY="none",
    EMBEDDING_BINDING="openai",
    EMBEDDING_MODEL="e",
    EMBEDDING_DIM="384",
    EMBEDDING_BINDING_HOST=URL,
    EMBEDDING_BINDING_API_KEY="none",
    OPENAI_API_KEY="none",
    WORKING_DIR=f"{FOLDER}/work",
    INPUT_DIR=f"{FOLDER}/input",
    CHUNK_SIZE=str(4 * 1200),
    CHUNK_OVERLAP_SIZE=str(4 * 100),
    MAX_ASYNC="256",
    SUMMARY_LANGUAGE="English",
)

import tiktoken

BYTES = tiktoken.Encoding("bytes", pat_str=".", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
tiktoken.encoding_for_model = lambda name: BYTES
tiktoken.get_encoding = lambda name: BYTES

sys.argv = ["lightrag-server", "--host", "127.0.0.1", "--port", PORT, "--working-dir", f"{FOLDER}/work"]

from lightrag.api import lightrag_server

lightrag_server.main()
