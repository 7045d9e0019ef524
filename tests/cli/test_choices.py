"""Options that take a name from a list: the list is that of the library, whole."""

from collections.abc import Iterable
from typing import Any, get_args

import pytest

from labeler.cli import execute, runs
from labeler.exchange.written import RUN_FORMATS


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        (runs.RunFormat, RUN_FORMATS),
    ],
)
def test_the_choices_of_an_option_are_the_names_that_the_library_knows(
    choices: Any, names: Iterable[str]
) -> None:
    assert set(get_args(choices)) == set(names)


def test_what_is_no_choice_is_refused_in_one_line_that_names_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["qrels", "merge", "a", "b", "-o", "c", "--conflict", "least"]) == 2
    assert capsys.readouterr().err == (
        "labeler: Invalid value for '--conflict': 'least' is not one of 'error', 'first', 'last', "
        "'max', 'min', 'drop'; see labeler qrels merge --help\n"
    )
