"""The gate before every way out: who may be asked, and with which key.

An address has an origin. A person named it: in this call, in the environment, or once before with
`labeler trust`. Or a large provider documents it. Or a file names it: a collection's, a batch's, a
partition's, a project's. Such a file may have come from a stranger, so that it alone sends nothing
anywhere: neither key nor text leaves for an address that nobody named in one of the other ways.

Which key is sent depends on the address alone, wherever it was named: the variable that was trusted
with it, the provider's own, that of the environment which names it, else OPENAI_API_KEY.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from labeler.errors import BadInput, Misconfigured
from labeler.wire.addresses import masked, server_address
from labeler.wire.places import VARIABLES, Place, named_in_environment
from labeler.wire.trust import trusted_variable

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
            problem = f"{key} goes to {masked(whole)} once that is trusted with it"
            raise Misconfigured(f"{named_by}: {problem}; see labeler trust")
        variables = (key,)
    return Admitted(whole, _key_in(variables, where))


def named(address: str, key: str = "") -> Admitted:
    """An address that this very call names, with the key that it gives, and no other.

    So are search engines, databases, servers that this process started, and public files.
    """
    return Admitted(address, checked_key(key))


def check_named(where: Place, shown: str, named_by: object = "") -> tuple[str, ...]:
    """The variables that may hold a place's key, the first first.

    `Misconfigured` where a file alone names it.
    """
    trusted = trusted_variable(where)
    if trusted is not None:
        return (trusted,) if trusted else ()
    own = where.variables
    for variable, other in named_in_environment().items():
        if other.covers(where):
            return VARIABLES[variable] if own is None else own
    if named_by and not where.is_provider:
        problem = f"it alone names {shown}, so that no text and no key goes there"
        raise Misconfigured(f"{named_by}: {problem}; if they may: labeler trust {shown}")
    return (USUAL,) if own is None else own


def checked_key(key: str) -> str:
    """A key as it can be sent, without the line break that ends the file it came from."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        problem = "the API key holds a character that no header can (a line break, or not ASCII)"
        raise Misconfigured(f"{problem}; see {USUAL}")
    return "" if key == NO_KEY else key


def _key_in(variables: tuple[str, ...], where: Place) -> str:
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
