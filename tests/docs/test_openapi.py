"""The interface is what docs/openapi.json says, and changes only with its version."""

import copy
import json
from pathlib import Path

import pytest
from conspectus.storage.errors import UsageError

from docs.openapi import check_version, described

COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_interface_is_the_committed_one() -> None:
    committed = json.loads(COMMITTED.read_text("utf-8"))
    check_version(committed, described())
    assert described() == committed, "write it: python docs/openapi.py docs/openapi.json"


def test_a_change_needs_a_higher_version() -> None:
    old = described()
    new = copy.deepcopy(old)
    new["paths"].pop("/v1/methods")
    with pytest.raises(UsageError, match="API_VERSION"):
        check_version(old, new)
    new["info"]["version"] = "1.9.9"
    with pytest.raises(UsageError):
        check_version(old, new)
    new["info"]["version"] = "4.10.0"
    check_version(old, new)
    check_version(old, old)
