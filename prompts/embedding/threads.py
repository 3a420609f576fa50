"""Threads that run a model side by side, so that its results do not depend on how many there are."""

import threading
from concurrent.futures import ThreadPoolExecutor


def single_threads(name: str) -> ThreadPoolExecutor:
    """Return as many threads as torch uses; on each of them torch uses one, elsewhere what it used before."""
    import torch

    outside = torch.get_num_threads()
    settled = threading.Barrier(outside + 1)

    def settle() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()  # fixes the number for this thread, whatever is set later
        settled.wait()

    threads = ThreadPoolExecutor(outside, thread_name_prefix=name, initializer=settle)
    for _ in range(outside):
        threads.submit(int)
    settled.wait()
    torch.set_num_threads(outside)  # torch also hands the last number set to threads that come to it later
    return threads
