"""`labeler init`: a commented file of settings for the commands that are started here."""

from __future__ import annotations

from pathlib import Path

from labeler.cli.options import FORCE
from labeler.cli.screen import say
from labeler.cli.settings import template
from labeler.files.settings import NAME
from labeler.options import option


def command(force: bool = option(False, FORCE)) -> None:
    """Write a labeler.toml, the settings of this folder.

    An option beats the environment, and the environment beats the file. Every command that uses a
    setting says so. LABELER_CONFIG names another file; set to nothing, no file is read.
    """
    from labeler.collection.user_files import Output
    from labeler.files.atomic import replacing

    path = Path(NAME)
    with Output(path, force).writing(), replacing(path) as out:
        out.write(template())
    say(f"wrote {path}: every setting is commented out; remove the # of those that you want")
