"""Overhead of the model client, its utilisation of a server, and its behaviour under rate limits.

    python -m benchmarks.client              two minutes
    python -m benchmarks.client --minute 60 --minutes 2.5    limits in real minutes instead of six seconds: ten minutes

The server is `python -m benchmarks.fake_server`, a separate process. "CPU ms/call" is this process's CPU time per
call: bare is the openai package alone, ours adds the client (memo, limiter, retries, accounting).
"""

import argparse
import asyncio
import math
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import openai
from conspectus.prompts.client.client import ModelClient, llm_address
from conspectus.prompts.language_model import Message, Request
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import fake_process

CALLS = 1000
PROMPT = "word " * 600
"""A chunk of the usual size."""


async def bare(url: str, n_calls: int) -> None:
    """Make calls with the openai package alone."""
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        free = asyncio.Semaphore(32)

        async def call(number: int) -> None:
            async with free:
                message = {"role": "user", "content": f"{number} {PROMPT}"}
                await client.chat.completions.create(
                    model="m",
                    messages=[message],  # type: ignore[list-item]
                    max_tokens=4096,
                    temperature=0.0,
                )

        await asyncio.gather(*(call(number) for number in range(n_calls)))


async def ours(url: str, n_calls: int) -> None:
    """Make the same calls with the client."""
    with tempfile.TemporaryDirectory() as folder:
        model = ModelClient(LlmSettings(model="m", base_url=url), Memo(Path(folder) / "memo.sqlite"))
        await asyncio.gather(*(model.complete(request(number)) for number in range(n_calls)))


def request(number: int) -> Request:
    """Return a request of about the size of an extraction."""
    return Request((Message("user", f"{number} {PROMPT}"),), "bench", sources=(f"{number:016x}",))


def overhead() -> None:
    """Compare the CPU time of a call without latency, and the calls in flight at a latency of 200 ms."""
    print(f"{CALLS} calls, 32 at once\n")
    print("who   latency  CPU ms/call  seconds  in flight, mean  peak")
    for latency in ("0", "0.2"):
        for name, make in (("bare", bare), ("ours", ours)):
            with fake_process("--latency", latency) as server:
                seconds, cpu = timed(make, server.url)
                found = server.measures()
                row = f"{name}  {latency:>7}  {cpu:11.2f}  {seconds:7.2f}"
                print(f"{row}  {found.in_flight_mean:15.2f}  {found.in_flight_peak:4}")


def timed(make: Callable[[str, int], Awaitable[None]], url: str) -> tuple[float, float]:
    """Return the seconds of all calls, and the CPU milliseconds per call."""
    asyncio.run(make(url, 0))  # warm up imports
    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(make(url, CALLS))
    return time.perf_counter() - began, (time.process_time() - cpu) / CALLS * 1000


def limits(minute: float, minutes: float) -> None:
    """Run for some minutes under each kind of limit, known and unknown to the client."""
    print(f"\nlimits, a minute being {minute:g} s\n")
    print("limit     known  calls  429  second 429  seconds  share of the limit used")
    for kind, option, most, a_minute in (("requests", "--rpm", 60, 60), ("tokens", "--tpm", 40_000, 50)):
        for known in (True, False):
            n_calls = round(minutes * a_minute)
            with fake_process(option, str(most), "--window", str(minute), "--latency", "0.02") as server:
                settings = LlmSettings(model="m", base_url=server.url, max_output_tokens=200)
                if known:
                    settings = settings.model_copy(update={f"{kind}_per_minute": most})
                began = time.perf_counter()
                asyncio.run(limited(settings, minute, n_calls))
                seconds = time.perf_counter() - began
                found = server.measures()
                spent = n_calls if kind == "requests" else found.prompt_tokens + found.completion_tokens
                # The first allowance is available at the start, each further one a minute later.
                least = (math.ceil(spent / most) - 1) * minute
                refused, twice = found.statuses.get("429", 0), found.second_429
                row = f"{kind:8}  {known!s:5}  {n_calls:5}  {refused:3}  {twice:10}  {seconds:7.1f}"
                print(f"{row}  {least / seconds:.0%}")


async def limited(settings: LlmSettings, minute: float, n_calls: int) -> None:
    """Make calls through a client whose limits use the server's shortened minute."""
    model = ModelClient(settings, address=replace(llm_address(settings), window=minute))
    await asyncio.gather(*(model.complete(request(number)) for number in range(n_calls)))


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minute", type=float, default=6.0, help="seconds of a minute of the limits")
    options.add_argument("--minutes", type=float, default=4.5, help="how many of them the work is for")
    given = options.parse_args()
    overhead()
    limits(given.minute, given.minutes)


if __name__ == "__main__":
    main()
