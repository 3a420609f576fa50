"""How many questions at once, how long, and what a client that goes away leaves behind."""

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from conspectus.server.request_threads import MOST_COMPUTING, ClientGone, RequestThreads, Stopping, TooBusy, TookTooLong
from conspectus.server.tokens import Caller, CallerLimits, Callers, MoneySpent, Purse, _digest
from conspectus.storage.cancellation import check
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import LlmSettings, Price, Settings, load_settings

from benchmarks.fake_server import FakeServer
from tests.conspectus.server.running import QUESTION, running
from tests.waiting import HELD, LIMIT, post_and_leave, wait_until


def with_model(fake: FakeServer, **more: object) -> Settings:
    return load_settings(overrides={"llm": {"model": "m", "base_url": fake.url, "attempts": 1} | more})


async def never() -> None:
    await asyncio.Event().wait()


def test_one_more_than_there_are_threads_for_is_refused_and_health_stays(notes: Path) -> None:
    with (
        FakeServer(latency=HELD) as fake,
        running(("notes", notes), settings=with_model(fake), questions=RequestThreads(2, LIMIT)) as server,
    ):
        answers: list[httpx.Response] = []
        asked = [
            threading.Thread(target=lambda n=n: answers.append(server.ask(question=f"Who is number {n}?", method="io")))
            for n in range(2)
        ]
        for thread in asked:
            thread.start()
        wait_until(lambda: "conspectus_questions_in_flight 2.0" in server.client.get("/metrics").text)
        for stream in (False, True):
            refused = server.ask(stream=stream)
            assert refused.status_code == 429
            assert refused.json()["error"]["type"] == "too_busy"
            assert refused.headers["retry-after"] == "1"
        for read in (
            "/livez",
            *(f"/v1/indexes/notes/{each}" for each in ("documents", "entities", "status", "reports")),
        ):
            assert server.client.get(read).status_code == 200, "reads wait for no model"
        fake.change(latency=0.0)
        fake.release()
        for thread in asked:
            thread.join()
        assert [answer.status_code for answer in answers] == [200, 200]
        assert server.ask(method="bm25", question="Who is Mary Quill?").status_code == 200


def test_a_question_that_takes_too_long_is_given_up(notes: Path) -> None:
    with (
        FakeServer(latency=HELD) as fake,
        running(("notes", notes), settings=with_model(fake), questions=RequestThreads(100, 0.5)) as server,
    ):

        def a_model_was_asked() -> bool:  # on a slow machine it may not come to that in half a second
            got = server.ask(method="io")
            assert (got.status_code, got.json()["error"]["type"]) == (504, "too_long")
            return bool(fake.requests)

        wait_until(a_model_was_asked)
        wait_until(lambda: all(row.replied for row in fake.requests))
        assert {row.status for row in fake.requests} == {None}, "the model was hung up on"


@pytest.mark.parametrize("stream", [False, True])
def test_after_a_client_has_gone_nothing_more_is_sent_to_the_model(notes: Path, stream: bool) -> None:
    with FakeServer(latency=HELD) as fake, running(("notes", notes), settings=with_model(fake)) as server:
        asked = {"question": QUESTION, "method": "ircot", "stream": stream}
        post_and_leave(f"{server.url}/v1/indexes/notes/ask", asked, lambda: fake.requests)
        wait_until(lambda: fake.requests[0].replied is not None)
        assert fake.requests[0].status is None, "it was hung up on"
        wait_until(lambda: "conspectus_questions_in_flight 0.0" in server.client.get("/metrics").text)
        assert len(fake.requests) == 1


def test_a_model_that_fails_is_an_error_without_its_words(notes: Path) -> None:
    with (
        FakeServer("not a word of this should be told", api_key="another") as fake,
        running(("notes", notes), settings=with_model(fake)) as server,
    ):
        got = server.ask(method="io")
        assert (got.status_code, got.json()["error"]["type"]) == (502, "model_failed")
        assert fake.url not in got.text


def test_a_thread_counts_until_it_ends() -> None:
    async def scene() -> None:
        questions, ended = RequestThreads(1, 0.2), []
        hold = threading.Event()

        async def works() -> str:
            hold.wait(LIMIT)  # work of the processor: it cannot be interrupted
            return "done"

        with pytest.raises(TookTooLong):
            await questions.run(works, never, lambda: ended.append(1))
        with pytest.raises(TooBusy):
            await questions.run(works, never, lambda: ended.append(2))
        assert ended == [2]
        hold.set()
        while questions.inside:
            await asyncio.sleep(0.01)
        assert ended == [2, 1]
        questions.seconds = LIMIT
        assert await questions.run(works, never, lambda: ended.append(3)) == "done"

    asyncio.run(scene())


def test_s7_few_questions_compute_at_a_time_so_that_the_loop_answers() -> None:
    places = min(MOST_COMPUTING, os.cpu_count() or 1)
    lock, now, most = threading.Lock(), 0, 0
    full = threading.Barrier(places)

    async def works() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        full.wait(LIMIT)  # so many compute at the same time
        with lock:
            now -= 1

    async def scene() -> None:
        questions = RequestThreads(16 * places, LIMIT)
        await asyncio.gather(*(questions.run(works, never, lambda: None) for _ in range(16 * places)))

    asyncio.run(scene())
    assert most == places


def test_who_leaves_before_its_turn_computes_nothing() -> None:
    async def scene() -> None:
        questions, begun, hold = RequestThreads(2, LIMIT, computing=1), threading.Event(), threading.Event()
        asked_for: list[bool] = []

        async def first() -> None:
            begun.set()
            hold.wait(LIMIT)

        async def second() -> None:
            asked_for.append(True)

        async def at_once() -> None:
            return None

        running_first = asyncio.create_task(questions.run(first, never, lambda: None))
        await asyncio.to_thread(begun.wait, LIMIT)
        with pytest.raises(ClientGone):
            await questions.run(second, at_once, lambda: None)
        hold.set()
        await running_first
        while questions.inside:
            await asyncio.sleep(0.01)
        assert not asked_for

    asyncio.run(scene())


@pytest.mark.parametrize("why", [ClientGone, TookTooLong, Stopping])
def test_a_computation_ends_at_its_next_check(why: type[Exception]) -> None:
    async def scene() -> None:
        questions = RequestThreads(1, 0.2 if why is TookTooLong else LIMIT)
        begun, leaves = threading.Event(), asyncio.Event()

        async def computes() -> None:
            begun.set()
            while True:
                check()

        question = asyncio.create_task(questions.run(computes, leaves.wait, lambda: None))
        await asyncio.to_thread(begun.wait, LIMIT)
        if why is ClientGone:
            leaves.set()
        elif why is Stopping:
            questions.stop()
        with pytest.raises(why):
            await question
        async with asyncio.timeout(2.0):
            while questions.inside:
                await asyncio.sleep(0.01)

    asyncio.run(scene())


def test_after_the_stop_nothing_begins() -> None:
    async def scene() -> None:
        questions, ended = RequestThreads(1, LIMIT), []
        questions.stop()
        with pytest.raises(Stopping):
            await questions.run(never, never, lambda: ended.append(1))
        assert ended == [1]

    asyncio.run(scene())


def test_each_caller_has_a_share_of_the_threads() -> None:
    async def scene() -> None:
        questions, end = RequestThreads(6, LIMIT), threading.Event()
        under_way: list[asyncio.Task[None]] = []

        async def waits() -> None:
            await asyncio.to_thread(end.wait, LIMIT)

        async def taken(caller: str) -> bool:
            under_way.append(asyncio.create_task(questions.run(waits, never, lambda: None, caller, shares=True)))
            await asyncio.sleep(0)
            return not under_way[-1].done()

        assert [await taken("busy") for _ in range(5)] == [True, True, True, False, False]
        assert [await taken("late") for _ in range(3)] == [True, True, False]
        assert [await taken("later") for _ in range(2)] == [True, False]
        end.set()
        ended = await asyncio.gather(*under_way, return_exceptions=True)
        assert [type(each) for each in ended].count(TooBusy) == 4
        while questions.inside:
            await asyncio.sleep(0.01)
        assert await taken("busy"), "nothing is kept of who has left"
        await under_way[-1]

    asyncio.run(scene())


def test_questions_that_wait_for_a_model_keep_nobody_from_computing(notes: Path) -> None:
    with (
        FakeServer(latency=HELD) as fake,
        running(("notes", notes), settings=with_model(fake, concurrency=64)) as server,
    ):
        asked = [
            threading.Thread(target=lambda n=n: server.ask(question=f"Who computes number {n}?", method="io"))
            for n in range(4 * MOST_COMPUTING)
        ]
        for thread in asked:
            thread.start()
        wait_until(lambda: len(fake.requests) == len(asked))
        look = {"question": QUESTION, "method": "bm25"}
        assert server.client.post("/v1/indexes/notes/retrieve", json=look).status_code == 200
        fake.change(latency=0.0)
        fake.release()
        for thread in asked:
            thread.join()


def test_nothing_is_kept_of_questions_that_ended(server) -> None:  # noqa: ANN001  (see conftest)
    for _ in range(20):
        server.ask(method="bm25")
    assert server.indexes[0]._current._holders == 1
    assert threading.active_count() < 60


MOST_OF_A_CALL = 1.35
"""Dollars that a call of `io` to the model of `priced` can cost at most, a little more than it can."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def priced(fake: FakeServer, model: str) -> Settings:
    """Settings with a model of a name of its own: the index remembers replies."""
    return with_model(fake, model=model, prices={model: {"input": 1000, "output": 1000}})


def test_money_of_a_day_is_for_each_token_and_never_exceeded(notes: Path) -> None:
    with FakeServer(latency=0.2) as fake:
        settings = priced(fake, "paid")
        rich, poor = "token-of-the-rich", "token-of-the-poor"
        purse = Purse(MOST_OF_A_CALL + 0.1, settings.llm, lambda: NOON)
        callers = Callers({_digest(poor): Caller("poor", purse=purse), _digest(rich): Caller("rich")})
        with running(("notes", notes), settings=settings, callers=callers, token=poor) as server:
            with ThreadPoolExecutor(4) as pool:
                asked = list(
                    pool.map(lambda n: server.ask(method="io", question=f"Who is number {n}, and why?"), range(16))
                )
            answers = [each.json() for each in asked if each.status_code == 200]
            refused = next(each for each in asked if each.status_code != 200)
            assert len(answers) > 1, "calls that are over leave what they did not use"
            assert sum(each["usage"]["cost"] for each in answers) <= MOST_OF_A_CALL + 0.1
            assert len(fake.requests) == len(answers), "nothing was sent that could pass the limit"
            assert (refused.status_code, refused.json()["error"]["type"]) == (429, "money_spent")
            assert refused.headers["retry-after"] == "43201", "until midnight, rounded up"
            server.client.headers["authorization"] = f"Bearer {rich}"
            assert server.ask(method="io", question="And who else?").status_code == 200


def test_a_client_that_goes_away_has_spent_its_money(notes: Path) -> None:
    with FakeServer(latency=HELD) as fake:
        settings = priced(fake, "slow")
        callers = Callers({}, CallerLimits(dollars_a_day=MOST_OF_A_CALL + 0.1, llm=settings.llm))
        with running(("notes", notes), settings=settings, callers=callers) as server:
            asked = {"question": QUESTION, "method": "io"}
            post_and_leave(f"{server.url}/v1/indexes/notes/ask", asked, lambda: fake.requests)
            wait_until(lambda: all(row.replied for row in fake.requests))
            wait_until(lambda: "conspectus_questions_in_flight 0.0" in server.client.get("/metrics").text)
            assert server.ask(method="io", question="And who else?").json()["error"]["type"] == "money_spent"
            look = {"question": QUESTION, "method": "bm25"}  # of passages, which no model is asked for
            assert server.client.post("/v1/indexes/notes/retrieve", json=look).status_code == 200


def test_money_turns_at_midnight_and_needs_prices() -> None:
    llm = LlmSettings(model="m", prices={"m": Price(input=1, output=1)})
    days = iter([datetime(2026, 1, 1, 12, tzinfo=UTC)] * 4 + [datetime(2026, 1, 2, 0, 1, tzinfo=UTC)])
    purse = Purse(1.0, llm, lambda: next(days))
    purse.budget().use(2.0)
    with pytest.raises(MoneySpent) as spent:
        purse.check()
    assert spent.value.seconds == 12 * 3600
    purse.check()
    with pytest.raises(UsageError, match=r"needs the price of other: set llm\.prices"):
        CallerLimits(dollars_a_day=1.0, llm=LlmSettings(model="other")).purse(None)
