"""What all tests share: the real data beside the checkout, and a folder for state of their own."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import end_forker
from kept import Kept, kept_as
from outgoing import nothing_around, watch
from postgres_server import PostgresServer, postgres_server

os.environ["LABELER_ENCODER"] = "wordllama"  # needs no file; tests/models/test_minilm.py unsets it
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx, an oracle, would compile for minutes

MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    # thousands of small files are made and synced: in memory that takes half the time
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

# where what is compiled is not kept, each worker compiles all tests anew, which takes ten seconds
sys.dont_write_bytecode = False

OWN = ""
if "PYTEST_XDIST_WORKER" not in os.environ:
    # what a process that was killed leaves goes with the rest; pytest's folder stays outside
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    OWN = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="labeler-")
    os.chmod(OWN, 0o711)  # PostgreSQL's folder is another user's
    tempfile.tempdir = None

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # what a shell starts in its background ignores it, and tests send it to themselves and others
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(10_000, 20, 20)  # by default an eighth of all time goes into looking for garbage
watch()

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data made by others."""
    if not SHARED.is_dir():
        pytest.skip("the shared data is not beside this checkout (../shared/data)")
    return SHARED


@pytest.fixture(autouse=True)
def _gate() -> Iterator[None]:
    """Each connection of the package has passed its gate, as tests/outgoing.py explains."""
    with nothing_around():
        yield


@pytest.fixture(scope="module", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for what the package keeps of its outputs, so that nobody's own is touched.

    Each module has its own, as each request looks through all addresses that tests have trusted.
    No width of a terminal says how results are broken.
    """
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(folder))
        environment.delenv("COLUMNS", raising=False)
        yield folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that runs until the last test; each test takes a new database of it."""
    with postgres_server() as running:
        yield running


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Kept:
    """Where replies are kept, as `either` says."""
    return kept_as(request.param, lambda: request.getfixturevalue("postgres"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors, as tests wait for servers, locks and programs."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    # what the modules of all tests hold stays, and need not be looked through again and again
    gc.freeze()


def pytest_sessionfinish() -> None:
    end_forker()
    if OWN:
        shutil.rmtree(OWN, ignore_errors=True)
