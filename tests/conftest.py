"""What all tests share: the real data beside the checkout, where it is there."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx, an oracle, would compile for minutes

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data made by others."""
    if not SHARED.is_dir():
        pytest.skip("the shared data is not beside this checkout (../shared/data)")
    return SHARED
