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
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads()
    try:
        _running.append(xllamacpp.Server(parameters))
    except RuntimeError as error:
        return {"error": str(error)}
    return {"url": _running[0].listening_address}


def threads() -> int:
    """Return the number of processors that nothing else uses, at least half of them.

    Threads wait for each other by spinning, and one that is delayed stops all. On two processors two threads are 1.8
    times as fast as one if nothing else runs, and .7 times beside one other program.
    """
    processors = os.cpu_count() or 1
    used = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, processors // 2, processors - used)


_running: list[Any] = []
"""The server, which ends with the object."""

if __name__ == "__main__":
    sys.stdout.write(json.dumps(serve(sys.argv[1], embeddings="embeddings" in sys.argv[2:])) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
