"""`trust`: addresses that a person named once for all, with the variables that hold their keys.

They are kept in the user's own folder for state, outside of every project and collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from labeler.errors import LabelerError, Misconfigured, Misuse
from labeler.files.atomic import replacing
from labeler.files.read import file_problems
from labeler.files.written import state_folder
from labeler.wire.places import Place

NAME = "trusted.json"
LARGEST = 1 << 20
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


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
            _check(variable)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LabelerError) as error:
        problem = "not what `labeler trust` writes; mend or remove it"
        raise Misconfigured(f"{path}: {problem}") from error
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
    _check(key)
    if key:
        where.check_variable(key)
    others = _others(address)
    _write({**others, address: key})
    return address


def forget(address: str) -> list[str]:
    """Trust an address no longer; what was kept of it."""
    addresses, others = trusted(), _others(address)
    gone = sorted(addresses.keys() - others.keys())
    if not gone:
        listed = ", ".join(addresses) or "none"
        problem = f"{_without_query(address)} is not trusted; trusted: {listed}"
        raise Misuse(problem, parameter="address")
    _write(others)
    return gone


def trusted_variable(where: Place) -> str | None:
    """The variable of a place's key, empty without one; None where the place is not trusted.

    Of several addresses that it lies below, the longest says.
    """
    addresses = trusted()
    for address in sorted(addresses, key=len, reverse=True):
        if Place.of(address).covers(where):
            return addresses[address]
    return None


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


def _check(variable: object) -> None:
    """`Misuse`, without what it is, of what is no variable's name: it may be a key."""
    if not isinstance(variable, str) or (variable and not _VARIABLE.fullmatch(variable)):
        problem = "expected the name of the environment variable that holds the key, as MY_API_KEY"
        raise Misuse(problem, parameter="key")


def _file() -> Path | None:
    """Where it is kept; None without a home."""
    try:
        return state_folder() / NAME
    except OSError:
        return None
