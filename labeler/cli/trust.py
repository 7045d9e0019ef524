"""`labeler trust`: the servers that files may name, and the variables that hold their keys."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.screen import say
from labeler.errors import Misuse
from labeler.options import option


def command(
    address: Annotated[
        str | None,
        typer.Argument(help="A server's address; without one, the trusted ones are listed."),
    ] = None,
    key: str = option(
        "", "The environment variable that holds the server's key.", metavar="VARIABLE"
    ),
    forget: bool = option(False, "Trust the address no longer."),
) -> None:
    """Name a server once for all, so that files may name it: it gets texts, and its own key.

    A collection, a batch, a partition or a labeler.toml may come from a stranger. The servers that
    it names get neither texts nor a key, unless you name them too: by an option, by the
    environment, or by this command. The large providers' own addresses are known.
    """
    from labeler.wire import gate

    if address is None:
        if key or forget:
            raise Misuse("name the address that is meant, too")
        for server, variable in sorted(gate.trusted().items()):
            say(f"{server}  {variable}".rstrip())
    elif forget:
        say(f"trusted no longer: {', '.join(gate.forget(address))}")
    else:
        trusted = gate.trust(address, key)
        sent = f"and the key in {key}" if key else "and no key; --key names the variable of one"
        say(f"{trusted}: files may name it, and it gets texts, {sent}")
