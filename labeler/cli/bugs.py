"""What is shown of an exception that nobody expected: it is a bug of this package, and says so."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Mapping

from labeler import __version__
from labeler.cli.screen import complain
from labeler.errors import Misconfigured
from labeler.report.neutral import printable

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST = 6
"""Characters of a secret; what is shorter would be found in any text."""


def report_bug(error: Exception, environment: Mapping[str, str] = os.environ) -> int:
    """Print an unexpected exception to stderr, without secrets, and return the exit code.

    The traceback comes first: the line that says what it is shall be the last on the screen.
    """
    if isinstance(error, MemoryError):
        complain("there is not enough memory for this; less at once may do")
        return 1
    if isinstance(error, ImportError) and not f"{error.name}.".startswith("labeler."):
        complain(f"{error}; is everything that labeler needs installed?")
        return Misconfigured.exit_code
    shown = without_secrets("".join(traceback.format_exception(error)), environment)
    print(printable(shown.rstrip("\n")), file=sys.stderr)
    words = shown.splitlines()[-1]
    complain(
        f"this is a bug of labeler {__version__}; please report it with the lines above: {words}"
    )
    return 1


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """The text, with the names of the environment's secrets in place of their values."""
    for name, value in environment.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST:
            text = text.replace(value, f"[{name}]")
    return text
