"""Search of a large vector index: time of writing, of a question, and how many of the best rows it finds.

    python -m benchmarks.vectors VECTORS.npy [--questions 500]

VECTORS.npy has unit vectors (n, d) float32. Some of them, drawn by chance, are the questions; the others are written as
an index of more than `EXACT_ROWS` vectors is, and the rows found are compared with those of a comparison with all.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import Vectors
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import open_faiss, write_faiss
from numpy.typing import NDArray


def opened(path: Path, vectors: Vectors, exact_rows: int) -> tuple[ExactIndex, float]:
    """Write vectors, and return their index with the CPU seconds of writing it."""
    began = time.process_time()
    write_faiss(path, vectors, exact_rows=exact_rows)
    spent = time.process_time() - began
    coded = len(vectors) > exact_rows
    return open_faiss(path, n_rows=len(vectors), dimension=vectors.shape[1], coded=coded), spent


def found(index: ExactIndex, questions: Vectors, k: int) -> tuple[NDArray[np.int64], float]:
    """Return the k best rows of each question, each asked alone, and the CPU milliseconds of a question."""
    began = time.process_time()
    rows = np.concatenate([index.search(question[None], k)[1] for question in questions])
    return rows, 1000 * (time.process_time() - began) / len(questions)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--questions", type=int, default=500)
    options = parser.parse_args()
    every = np.load(options.vectors, mmap_mode="r", allow_pickle=False)
    asked = np.random.default_rng(5).choice(len(every), options.questions, replace=False)
    questions, vectors = every[np.sort(asked)], np.delete(every, asked, axis=0)
    print(f"{len(vectors):,} vectors x {vectors.shape[1]}, {len(questions)} questions")
    with tempfile.TemporaryDirectory() as folder:
        exact, writing = opened(Path(folder, "exact.faiss"), vectors, len(vectors))
        coded, with_codes = opened(Path(folder, "coded.faiss"), vectors, 0)
        each, more = (1000 * spent / len(vectors) for spent in (writing, with_codes))
        print(f"writing a vector: {each:.4f} ms, with codes {more:.4f}")
        print(f"{'k':>5}{'all, ms':>9}{'codes, first':>14}{'again':>7}{'recall':>9}")
        for k in (1, 10, 50, 100):
            best, slow = found(exact, questions, k)
            rows, first = found(coded, questions, k)
            _, again = found(coded, questions, k)
            recall = np.mean([np.isin(*pair).mean() for pair in zip(best, rows, strict=True)])
            print(f"{k:>5}{slow:>9.1f}{first:>14.2f}{again:>7.2f}{recall:>9.4f}", flush=True)


if __name__ == "__main__":
    main()
