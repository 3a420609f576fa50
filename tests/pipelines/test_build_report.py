from conspectus.pipelines.build_report import LostShare, can_be_retried, lost_shares
from conspectus.storage.records import Failure

ROWS = {"documents": 9, "chunks": 40, "entities": 300, "relations": 100, "reports": 10}


def test_each_stage_is_measured_by_its_own_items() -> None:
    failures = [
        Failure("read", "a.pdf", "empty"),
        Failure("extract", "c1", "lost record"),
        Failure("summarise", "e1", "the descriptions could not be summed up"),
        Failure("report", "g1", "the model gave no report"),
        Failure("report", "g2", "the model gave no report"),
    ]
    found = lost_shares(ROWS, failures)
    assert found == (
        LostShare("report", 10, 2),
        LostShare("read", 10, 1),
        LostShare("extract", 40, 1),
        LostShare("summarise", 400, 1),
    )
    assert found[0].share == 0.2


def test_an_item_counts_once() -> None:
    failures = [Failure("extract", "c1", "lost record", str(number)) for number in range(30)]
    assert lost_shares(ROWS, failures) == (LostShare("extract", 40, 1),)


def test_no_share_is_above_one_and_nothing_lost_is_no_share() -> None:
    none_written = [Failure("report", f"g{number}", "the model gave no report") for number in range(3)]
    (found,) = lost_shares({**ROWS, "reports": 0}, none_written)
    assert found.share == 1
    assert lost_shares(ROWS, []) == ()


def test_what_could_not_be_read_is_no_matter_of_retrying() -> None:
    assert not can_be_retried([])
    assert not can_be_retried([Failure("read", "a.pdf", "empty")])
    assert can_be_retried([Failure("read", "a.pdf", "empty"), Failure("extract", "c1", "lost record")])
