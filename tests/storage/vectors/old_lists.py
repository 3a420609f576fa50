"""Indexes of inverted lists, as versions before December 2026 wrote them."""

from pathlib import Path

import faiss
from conspectus.storage.arrays import Vectors
from conspectus.storage.vectors import faiss_index
from conspectus.storage.vectors.faiss_index import FaissIndex, open_faiss


def lists(path: Path, vectors: Vectors, probes: int) -> FaissIndex:
    """Write about 4 sqrt(n) lists of vectors (n, d), and return the opened index."""
    (n_rows, dimension), count = vectors.shape, min(len(vectors), round(4 * len(vectors) ** 0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, count, faiss.METRIC_INNER_PRODUCT)
    index.cp.min_points_per_centroid = 1
    index.train(vectors)
    index.add(vectors)
    index.make_direct_map(True)
    faiss.write_index(index, str(path))
    faiss_index._end(path)
    return open_faiss(path, n_rows=n_rows, dimension=dimension, probes=probes)
