from pathlib import Path

import pytest
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import load_settings


def test_a_password_in_a_url_is_not_given_to_prefect() -> None:
    from conspectus.pipelines.prefect_flow import run_flow  # only here: Prefect takes seconds to import

    with pytest.raises(UsageError, match="contains a password") as refused:
        run_flow(["docs", "https://me:hunter2@host/report.pdf"], Path("index"), load_settings())
    assert "hunter2" not in str(refused.value)
