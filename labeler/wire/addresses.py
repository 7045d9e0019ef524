"""Addresses of servers: which are meant, and how they are shown."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from labeler.errors import Misconfigured

OPENAI = "https://api.openai.com/v1"
THIS_MACHINE = "127.0.0.1"
LOOPBACK = frozenset([THIS_MACHINE, "localhost", "::1"])
"""The names under which servers of one's own machine are asked."""

HIDDEN = "?hidden="
"""What stands in place of a query, before a hash of it: a query may choose who answers."""


def server_address(base_url: str | None) -> str:
    """The address that will be asked: the one given, the environment's, or OpenAI's."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip().rstrip("/")
    parts = _parts(address)
    if parts is None:
        raise Misconfigured(f"{masked(address)}: expected an address as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise Misconfigured(
            f"{masked(address)}: the address holds a user or a password; give the key in "
            "OPENAI_API_KEY instead"
        )
    if HIDDEN in address:
        raise Misconfigured(
            f"{masked(address)}: the query of this address is not kept, only a hash of it; give "
            "the whole address"
        )
    return address


def identity(address: str) -> str:
    """What tells an address from all others, without its secrets.

    This machine has several names, and one identity.
    """
    query = address.partition("?")[2].partition("#")[0]
    digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return _shown(address, host_of) + (f"{HIDDEN}{digest}" if query else "")


def host_of(parts: SplitResult) -> str:
    """The host of an address, where this machine's own names are one."""
    host = parts.hostname or ""
    return THIS_MACHINE if host in LOOPBACK else host


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches what listens at a host."""
    return host.lower() == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def is_address(text: str) -> bool:
    """Whether a host is an address in digits, and no name that may lead anywhere."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def masked(address: str) -> str:
    """An address fit for screens and files: without user, password, query or fragment.

    In a text that is no address, all before the last `@` may be a password.
    """
    return _shown(address, lambda parts: parts.hostname or "")


def _shown(address: str, host_in: Callable[[SplitResult], str]) -> str:
    parts = _parts(address)
    if parts is None:
        scheme = re.match(r"https?://", address)
        rest = address[scheme.end() :] if scheme else address
        shown = re.split(r"[?#]", rest.rpartition("@")[2])[0]
        return f"{scheme[0] if scheme else ''}{shown}"
    host = host_in(parts)
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


def _parts(address: str) -> SplitResult | None:
    """The parts of an address that can be asked; None where it is none."""
    from yarl import URL

    try:
        parts = urlsplit(address)
        is_usable = parts.port != 0 and address.isprintable() and " " not in address
        host = URL(address).host if is_usable else None
        (URL(address).raw_host or "").encode("idna")  # as the resolver will
        if host and not host.strip("0123456789."):
            IPv4Address(host)  # `127.1` or `2130706433` may be another place to each who reads it
    except ValueError:
        return None
    return parts if host and parts.scheme in {"http", "https"} else None


# Places that can be asked: how two addresses compare, and the providers known from the start.

PROVIDERS: Mapping[str, Sequence[str]] = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter.ai": ("OPENROUTER_API_KEY",),
    "api.groq.com": ("GROQ_API_KEY",),
    "api.mistral.ai": ("MISTRAL_API_KEY",),
    "api.deepseek.com": ("DEEPSEEK_API_KEY",),
    "api.together.xyz": ("TOGETHER_API_KEY",),
    "api.fireworks.ai": ("FIREWORKS_API_KEY",),
    "api.x.ai": ("XAI_API_KEY",),
}
"""Hosts of large providers, and the variables that each documents for its key, the first first."""

AZURE, AZURE_KEY = ".openai.azure.com", "AZURE_OPENAI_API_KEY"
"""Below it each customer has a host: a key goes there, but a file does not name such a host."""

OLLAMA = "http://127.0.0.1:11434"
PORTS = {"http": 80, "https": 443, "postgresql": 5432}

VARIABLES: Mapping[str, Sequence[str]] = {
    "OPENAI_BASE_URL": ("OPENAI_API_KEY",),
    "LABELER_EMBEDDINGS_URL": ("LABELER_EMBEDDINGS_KEY", "OPENAI_API_KEY"),
    "AZURE_OPENAI_ENDPOINT": (AZURE_KEY,),
    "OLLAMA_HOST": (),
    "LABELER_STORE": (),
}
"""The variables that name a place, and those that hold the key of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """An address in parts that compare; `localhost` and its two numbers are one host."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @classmethod
    def of(cls, address: str) -> Place:
        """The place of an address; `Misconfigured` where it is none."""
        parts = urlsplit(address)
        scheme = "postgresql" if parts.scheme == "postgres" else parts.scheme
        if scheme != "postgresql":
            parts = urlsplit(server_address(address))
        elif parts.password or not parts.hostname:
            raise Misconfigured("expected an address as postgresql://user@host/database")
        try:
            port = parts.port or PORTS[scheme]
        except ValueError:
            raise Misconfigured("an address whose port is none") from None
        return cls(scheme, host_of(parts), port, parts.path.rstrip("/"), parts.query)

    def covers(self, other: Place) -> bool:
        """Whether whoever named this place named the other, which is the same or lies below."""
        if (self.scheme, self.host, self.port) != (other.scheme, other.host, other.port):
            return False
        steps = unquote(other.path).split("/")
        is_below = other.path == self.path or other.path.startswith(f"{self.path}/")
        return (
            is_below and ".." not in steps and (not self.query or other.query in ("", self.query))
        )

    @property
    def is_provider(self) -> bool:
        """Whether it is a large provider's own, over an encrypted connection."""
        return self._is_usual and self.host in PROVIDERS

    @property
    def variables(self) -> Sequence[str] | None:
        """The variables of its key, where it is known whose place it is."""
        if self._is_usual and self.host.endswith(AZURE):
            return (AZURE_KEY,)
        if self._is_usual and self.host in PROVIDERS:
            return PROVIDERS[self.host]
        return () if Place.of(OLLAMA).covers(self) else None

    @property
    def _is_usual(self) -> bool:
        return (self.scheme, self.port) == ("https", 443)

    def check_variable(self, variable: str) -> None:
        """`Misconfigured` where a variable holds the key of one provider, and this is another."""
        owners = [*PROVIDERS.items(), (AZURE[1:], (AZURE_KEY,))]
        owner = next((host for host, names in owners if variable in names), None)
        own = self.variables
        if owner and own and variable not in own:
            raise Misconfigured(
                f"{self.host}: {variable} is the key of {owner}, and goes to no other provider; "
                f"its own is in {own[0]}"
            )


def ollama_address() -> str:
    """Where Ollama listens: at its usual port, or where OLLAMA_HOST says."""
    host = os.environ.get("OLLAMA_HOST", "")
    if not host:
        return OLLAMA
    return host.rstrip("/") if "://" in host else f"http://{host}"


def named_in_environment() -> dict[str, Place]:
    """The places that the environment names, by their variables; what is no address names none."""
    places = {}
    for variable in VARIABLES:
        value = os.environ.get(variable, "").strip()
        with suppress(Misconfigured):
            if value:
                is_host = variable == "OLLAMA_HOST"
                places[variable] = Place.of(ollama_address() if is_host else value)
    return places
