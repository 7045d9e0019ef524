"""Every exception that the package raises on purpose, and the exit code that each one means.

    LabelerError           1   a bug of ours, when nothing below fits
    ├── Misuse             2   an option or argument that cannot be meant
    │   └── NotCurrent         … an answer to what the rater is not asked any more
    ├── Incomplete         3   finished, but some pairs have no grade, or queries are missing
    ├── BudgetReached      4   stopped at the budget
    │   └── TooManyFailed 69       … as too many pairs came to no grade
    ├── GateFailed         5   a figure did not pass its gate
    ├── GateUndecided      6   nobody can tell whether a figure passes its gate
    ├── Stopped            1   told to stop before it was done; the command ends as interrupted
    ├── AskedElsewhere     1   another process is asking this very request; never ends a run
    ├── BadInput          65   a file says something wrong; the message: where, and what would work
    │   ├── TooLarge           … of more than may be read at once: a line, a document's file
    │   └── SaysTooLittle      … nothing wrong, but grades or ids that a person has to explain
    ├── ProviderError     69   the model's provider failed
    │   └── CallFailed         … for one request; the pair becomes a Failure, the run goes on
    │       ├── WaitsInBatch   … as it is not asked now, but waits in a batch
    │       └── Retryable      … in a way that another try may mend
    │           ├── NoAnswer       nothing whole came back
    │           └── NoCompletion   what came back is no chat completion
    ├── FileProblem       74   a file could not be read or written
    │   ├── Locked             … because another program held it for longer than one would wait
    │   └── StatementFailed    a database could not do what it was asked
    └── Misconfigured     78   a key, an address, an extra or a model is missing or refused
        └── NotFound           … the server knows no such address or model (404)

A message is one line: what is wrong, where, and what would have worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Self


class LabelerError(Exception):
    """The root of all; its message is fit for the screen as it is.

    `parameter` names the parameter that the message is about, for whoever calls it by another name:
    the command line puts the option in front. `again` holds the parameters with which the same call
    goes on, empty where it needs no others; None where that makes no sense.
    """

    exit_code = 1
    again: Mapping[str, object] | None = None

    def __init__(self, message: str, *, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class Misuse(LabelerError):
    """The command or the call cannot be meant as it stands."""

    exit_code = 2


def check_known(what: str, name: str, names: Iterable[str], parameter: str = "") -> None:
    """`Misuse` of a name that is none of these, which it lists."""
    every = list(names)
    if name not in every:
        problem = f"no {what} {name!r:.60}; known: {', '.join(every)}"
        raise Misuse(problem, parameter=parameter)


class NotCurrent(Misuse):
    """An answer to an item that is not the current one of the rater; nothing was written."""


@contextmanager
def about(parameter: str, *instead_of: str) -> Iterator[None]:
    """Let a `Misuse` that names no parameter, or one of `instead_of`, be about this one.

    >>> with about("measures"):
    ...     raise Misuse("no measure 'foo'")
    Traceback (most recent call last):
        ...
    labeler.errors.Misuse: no measure 'foo'
    """
    try:
        yield
    except Misuse as error:
        if error.parameter in ("", *instead_of):
            error.parameter = parameter
        raise


class Incomplete(LabelerError):
    """The work is done and saved, but some pairs have no grade, or queries are missing."""

    exit_code = 3

    def __init__(self, message: str, again: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.again = again


class BudgetReached(LabelerError):
    """The run stopped at its budget; what was paid for is kept, and another run goes on."""

    exit_code = 4
    again: Mapping[str, object] = MappingProxyType({})


class TooManyFailed(BudgetReached):
    """The run stopped as too many of its pairs came to no grade; what is judged is kept."""

    exit_code = 69

    def of(self, whose: str) -> Self:
        """The same of one of several that were asked."""
        error = type(self)(f"{whose}: {self}", parameter=self.parameter)
        error.again = self.again
        return error


class Stopped(LabelerError):
    """Told to stop; what was under way is finished and kept."""


class AskedElsewhere(LabelerError):
    """Another process is asking this very request; its reply will be in the store."""


class GateFailed(LabelerError):
    """A figure did not pass a gate that was set for it."""

    exit_code = 5


class GateUndecided(LabelerError):
    """What there is does not tell whether a figure passes a gate that was set for it."""

    exit_code = 6


class BadInput(LabelerError):
    """A file's content is not what its format says."""

    exit_code = 65

    @classmethod
    def at(cls, path: Path | str, line: int, problem: str, *, parameter: str = "") -> Self:
        """The error of one line, as `runs/a.trec:7: expected 6 columns, found 5`."""
        return cls(f"{path}:{line}: {problem}", parameter=parameter)


class SaysTooLittle(BadInput):
    """Qrels whose grades or queries mean what a person has to say, as `parameters` propose.

    `problem` is the message without the parameters, for a reader who calls them otherwise;
    `is_run` says that the file is a run.
    """

    is_run = False

    def __init__(
        self, problem: str, path: Path, parameters: Mapping[str, str], message: str = ""
    ) -> None:
        super().__init__(message or problem)
        self.problem, self.path, self.parameters = problem, path, parameters


class TooLarge(BadInput):
    """A file, or a line of one, is larger than what is read at once."""


def refuse(error: BadInput) -> None:
    """Stop at a bad row; who wants to hear of all of them collects them instead."""
    raise error


class ProviderError(LabelerError):
    """The model's provider failed in a way that ends the run."""

    exit_code = 69


class CallFailed(ProviderError):
    """One request failed for good; `status` is what its pair's `Failure` will say.

    `refused` is true where the server found fault with the request itself (400, 422). `tokens` are
    those of the request and of the reply that the server says it took all the same;
    `may_be_billed` is true where it does not say, but may have taken some.
    """

    tokens: tuple[int, int] | None = None
    may_be_billed = False

    def __init__(self, message: str, status: str = "call_failed", *, refused: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.refused = refused


class WaitsInBatch(CallFailed):
    """A request is not asked now: it waits in a batch, or nobody has asked for it yet."""


class Retryable(CallFailed):
    """A request failed in a way that may pass: a lost connection, a busy server.

    `wait` is how many seconds the server asked for, None where it did not say; `busy` is true
    where the server has more to do than it can (429, 503), so that fewer calls at once would help.
    """

    def __init__(self, message: str, wait: float | None = None, *, busy: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.busy = busy


class NoAnswer(Retryable):
    """No answer came back, or not all of it.

    `is_first` is true where the server has answered nothing yet: who it is may be a mistake. What
    was not sent, as where no connection came about, cannot be billed.
    """

    is_first = False

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.may_be_billed = was_sent


class NoCompletion(Retryable):
    """The server's answer, though it says 200, is no chat completion, and counts no tokens."""

    may_be_billed = True


class FileProblem(LabelerError):
    """A file could not be read or written."""

    exit_code = 74


class Locked(FileProblem):
    """Another program held a file for longer than one would wait."""


class StatementFailed(FileProblem):
    """A database could not do what it was asked; `code` is its own, empty of a lost connection.

    `may_pass` is true where the same may come to another end later.
    """

    def __init__(self, message: str, code: str = "", *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.may_pass = may_pass


class Misconfigured(LabelerError):
    """A key, an address, an optional package or a model is missing or was refused."""

    exit_code = 78


class NotFound(Misconfigured):
    """The server has no such address or model; some say so of a parameter, too."""
