"""The gate before every way out: who may be asked, and with which key.

An address has an origin. A person named it: in this call, in the environment, or once before with
`labeler trust`. Or a large provider documents it. Or a file names it: a collection's, a batch's, a
partition's, a project's. Such a file may have come from a stranger, so that it alone sends nothing
anywhere: neither key nor text leaves for an address that nobody named in one of the other ways.

Which key is sent depends on the address alone, wherever it was named: the variable that was trusted
with it, the provider's own, that of the environment which names it, else OPENAI_API_KEY.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.errors import BadInput, LabelerError, Misconfigured, Misuse
from labeler.files.atomic import replacing, state_folder
from labeler.files.read import file_problems
from labeler.wire.addresses import VARIABLES, Place, masked, named_in_environment, server_address

# `trust`: addresses that a person named once for all, with the variables that hold their keys.
#
# They are kept in the user's own folder for state, outside of every project and collection.

NAME = "trusted.json"
LARGEST = 1 << 20
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def trusted() -> dict[str, str]:
    """The addresses that are trusted, each with the variable of its key; empty without one."""
    path = _file()
    if path is None or not path.is_file():
        return {}
    with file_problems(path), path.open("rb") as file:
        content = file.read(LARGEST)
    try:
        addresses = json.loads(content)["addresses"]
        for address, variable in addresses.items():
            Place.of(address)
            check_variable_name(variable)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LabelerError) as error:
        raise Misconfigured(
            f"{path}: not what `labeler trust` writes; mend or remove it"
        ) from error
    return dict(addresses)


def trust(address: str, key: str = "") -> str:
    """Trust an address, and all that lies below it, from now on; how it is kept.

    `key` is the name of the variable that holds its key: without one, no key is sent there.

    >>> import os, tempfile
    >>> os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    >>> trust("http://127.0.0.1:8000/v1", "MY_KEY")
    'http://127.0.0.1:8000/v1'
    >>> trusted()
    {'http://127.0.0.1:8000/v1': 'MY_KEY'}
    >>> forget("http://localhost:8000/v1"), trusted()
    (['http://127.0.0.1:8000/v1'], {})
    """
    where, address = Place.of(address), _without_query(address)
    check_variable_name(key)
    if key:
        where.check_variable(key)
    _write({**_others(address), address: key})
    return address


def forget(address: str) -> list[str]:
    """Trust an address no longer; what was kept of it."""
    addresses, others = trusted(), _others(address)
    gone = sorted(addresses.keys() - others.keys())
    if not gone:
        listed = ", ".join(addresses) or "none"
        raise Misuse(
            f"{_without_query(address)} is not trusted; trusted: {listed}", parameter="address"
        )
    _write(others)
    return gone


def _others(address: str) -> dict[str, str]:
    where = Place.of(_without_query(address))
    return {other: name for other, name in trusted().items() if Place.of(other) != where}


def _without_query(address: str) -> str:
    return address.strip().partition("?")[0].partition("#")[0].rstrip("/")


def _write(addresses: Mapping[str, str]) -> None:
    path = _file()
    if path is None:
        raise Misconfigured("no home, so that nothing can be trusted; see XDG_STATE_HOME")
    with file_problems(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as out:
            json.dump({"addresses": addresses}, out, indent=1, sort_keys=True)
            out.write("\n")


def check_variable_name(variable: object) -> None:
    """`Misuse`, without what it is, of what is no variable's name: it may be a key."""
    if not isinstance(variable, str) or (variable and not _VARIABLE.fullmatch(variable)):
        raise Misuse(
            "expected the name of the environment variable that holds the key, as MY_API_KEY",
            parameter="key",
        )


def _file() -> Path | None:
    """Where it is kept; None without a home."""
    try:
        return state_folder() / NAME
    except OSError:
        return None


USUAL = "OPENAI_API_KEY"
NO_KEY = "none"
"""What stands for no key; servers on one's own machine ask for none."""

_WAY: ContextVar[str] = ContextVar("way", default="")


@dataclass(frozen=True, slots=True)
class Admitted:
    """An address that may be asked, and the key that goes there; empty without one."""

    address: str
    key: str = field(default="", repr=False)

    def below(self, path: str) -> Admitted:
        """The address of a path below this one; its query stays."""
        address, mark, query = self.address.partition("?")
        return replace(self, address=f"{address.rstrip('/')}/{path}{mark}{query}")


def admit(address: str | None = None, *, named_by: object = "", key: str = "") -> Admitted:
    """A server that may be asked for something, with its key; without an address, the usual one.

    `named_by` is the file that names the address, empty where a person does. `key` is the name of
    the variable that is declared to hold its key. `Misconfigured` says what to do where nobody
    named the address but that file.
    """
    try:
        whole = server_address(address)
    except Misconfigured as error:
        if named_by:
            raise BadInput(f"{named_by}: {error}") from None
        raise
    where = Place.of(whole)
    variables = check_named(where, masked(whole), named_by)
    if key:
        where.check_variable(key)
        if named_by and key not in variables:
            raise Misconfigured(
                f"{named_by}: {key} goes to {masked(whole)} once that is trusted with it; see "
                "labeler trust"
            )
        variables = (key,)
    return Admitted(whole, _key_in(variables, where))


def named(address: str, key: str = "") -> Admitted:
    """An address that this very call names, with the key that it gives, and no other.

    So are search engines, databases, servers that this process started, and public files.
    """
    return Admitted(address, checked_key(key))


def check_named(where: Place, shown: str, named_by: object = "") -> Sequence[str]:
    """The variables that may hold a place's key, the first first.

    If it lies below several trusted addresses, the longest decides. `Misconfigured` where a file
    alone names it.
    """
    addresses = trusted()
    for address in sorted(addresses, key=len, reverse=True):
        if Place.of(address).covers(where):
            return tuple(filter(None, [addresses[address]]))
    own = where.variables
    for variable, other in named_in_environment().items():
        if other.covers(where):
            return VARIABLES[variable] if own is None else own
    if named_by and not where.is_provider:
        raise Misconfigured(
            f"{named_by}: it alone names {shown}, so that no text and no key goes there; if they "
            f"may: labeler trust {shown}"
        )
    return (USUAL,) if own is None else own


def checked_key(key: str) -> str:
    """A key as it can be sent, without the line break that ends the file it came from."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise Misconfigured(
            "the API key holds a character that no header can (a line break, or not ASCII); see "
            f"{USUAL}"
        )
    return "" if key == NO_KEY else key


def _key_in(variables: Sequence[str], where: Place) -> str:
    """The key in the first of the variables that is set; `Misconfigured` of another provider's."""
    for variable in variables:
        if value := os.environ.get(variable):
            return checked_key(value)
    if where.variables and os.environ.get(USUAL):
        where.check_variable(USUAL)
    return ""


@contextmanager
def on_the_way(to: str) -> Iterator[None]:
    """Connect to a place that has passed the gate, while the block runs."""
    token = _WAY.set(to)
    try:
        yield
    finally:
        _WAY.reset(token)


def way() -> str:
    """Where this package is about to connect to, having passed the gate; empty outside."""
    return _WAY.get()
