import numpy as np
from conspectus.storage.blas_threads import one_blas_thread
from threadpoolctl import threadpool_info, threadpool_limits


def blas_threads() -> set[int]:
    return {
        each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas" and "numpy" in each["filepath"]
    }


def test_the_limit_holds_until_the_last_one_leaves() -> None:
    assert np.ones((2, 2)) @ np.ones(2) is not None
    with threadpool_limits(limits=2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}
