"""Serve a model file until the input ends: `python model_file_worker.py PATH [embeddings]`.

The first line of output says where, or why not.
"""

import json
import os
import sys
from typing import Any

SLOTS = 2
"""Requests at the same time; they share the context that the file names."""


def serve(path: str, *, embeddings: bool) -> dict[str, str]:
    """Start the server; return its URL, or why there is none."""
    try:
        import xllamacpp
    except ImportError:
        return {"missing": "xllamacpp"}
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.offline, parameters.ui = True, False  # it downloads nothing
    parameters.n_ctx, parameters.n_parallel, parameters.kv_unified = 0, SLOTS, True
    parameters.embedding = embeddings
    # Its threads wait for each other by spinning: with as many as processors, one that is delayed stops all.
    threads = max(1, (os.cpu_count() or 1) // 2)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    try:
        _running.append(xllamacpp.Server(parameters))
    except RuntimeError as error:
        return {"error": str(error)}
    return {"url": _running[0].listening_address}


_running: list[Any] = []
"""The server, which ends with the object."""

if __name__ == "__main__":
    sys.stdout.write(json.dumps(serve(sys.argv[1], embeddings="embeddings" in sys.argv[2:])) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
