"""Ray itself: connected to a cluster or started here, quiet, and ended again."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import Misconfigured, Misuse, ProviderError
from labeler.files.numbers import count
from labeler.messages import missing_extra
from labeler.wire.gate import on_the_way

OBJECT_STORE = 100 << 20
"""Bytes of shared memory on this machine: what goes through it is a few numbers."""

CONNECT_SECONDS = 10

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}
"""What keeps Ray from reporting to its makers, its logs from a person's screen, workers on this
machine from giving way to everything else, and Ray from being started again once it has ended.
"""


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How many workers judge, where, and partitions of how many pairs at least.

    `address` is that of a running cluster; None takes RAY_ADDRESS, or starts Ray on this machine
    alone. `rows` None makes a few partitions for each worker, of 5,000 pairs at most.
    """

    workers: int = 2
    address: str | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "rows"):
            value = getattr(self, name)
            if value is not None and not count(value):
                raise Misuse(f"{name} count from 1", parameter=name)


def check_ray() -> None:
    """`Misconfigured` where Ray is not installed."""
    if not (find_spec("ray") and find_spec("pyarrow")):
        raise Misconfigured(missing_extra("ray", "judging on Ray needs"))


def _check_answers(address: str) -> None:
    """`Misconfigured` where nothing answers at HOST:PORT: Ray tries for minutes, whoever stops it.

    What is no such address, as `auto`, is Ray's to say something of.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and port.isascii() and port.isdigit()):
        return
    try:
        with on_the_way(address):
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        problem = f"no Ray cluster answers at {address}: {error}"
        raise Misconfigured(problem, parameter="address") from error


class OpenedRay(NamedTuple):
    """Ray, whether it is to be ended again, and its folder of logs where it was started here."""

    ray: Any
    is_own: bool = True
    logs: Path | None = None


def started_ray(how: RayOptions) -> OpenedRay:
    """Ray, connected to a cluster or started here."""
    os.environ.update({name: os.environ.get(name, value) for name, value in SETTINGS.items()})
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    import ray
    import ray.data

    if ray.is_initialized():
        return OpenedRay(ray, is_own=False)
    address = how.address or os.environ.get("RAY_ADDRESS")
    _check_answers(address or "")
    try:
        with _unheard():
            logs = _connect(ray, address, how.workers)
    except Exception as error:  # of no kind of its own where a part of it takes too long to start
        where = f"at {address}" if address else "on this machine"
        why = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"Ray {where} cannot be reached or started: {why}"
        raise Misconfigured(problem, parameter="address") from error
    return OpenedRay(ray, logs=logs)


def _connect(ray: Any, address: str | None, workers: int) -> Path | None:
    """Connect to a cluster, or start Ray here; the folder of its logs in the latter case."""
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address:
        ray.init(address=address, **quiet)
        return None
    own = {"num_cpus": workers, "include_dashboard": False}
    started = ray.init(address="local", object_store_memory=OBJECT_STORE, **own, **quiet)
    return Path(started.address_info["session_dir"])


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep what Ray's own libraries write to standard error, past Python, from being seen."""
    sys.stderr.flush()
    earlier = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(earlier, 2)
        os.close(earlier)


def keep_signal_handlers() -> None:
    """Put this process' handlers of signals back, over those that Ray's libraries have put there.

    To be called in the main thread; elsewhere nothing is done.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None:
                signal.signal(number, handler)


@contextmanager
def ending_ray(opened: OpenedRay) -> Iterator[Any]:
    """Ray as long as the block runs; what was started for it is ended again.

    Its logs, which it never removes, stay where the block fails.
    """
    try:
        yield opened.ray
    finally:
        if opened.is_own:
            with suppress(Exception):  # what is ended so is not needed any more
                opened.ray.shutdown()
    if opened.logs:
        shutil.rmtree(opened.logs, ignore_errors=True)


def problem_of_ray(ray: Any, error: Exception) -> Exception:
    """What an error of Ray's means: workers that are gone; or a mistake in the code, as it is."""
    kinds = ("ActorDiedError", "ActorUnavailableError", "NodeDiedError", "WorkerCrashedError")
    gone = tuple(getattr(ray.exceptions, kind) for kind in kinds)
    if isinstance(error, gone) or isinstance(getattr(error, "cause", None), gone):
        problem = "workers ended again and again (killed, or out of memory?)"
        return ProviderError(f"Ray: {problem}; what was answered is kept")
    return error


def processors_of_worker(ray: Any, workers: int) -> float:
    """The share of a processor that each worker takes: one, or less where there are fewer."""
    whole = float(ray.cluster_resources().get("CPU", 1))
    return min(1.0, int(100 * whole / workers) / 100)
