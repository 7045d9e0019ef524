"""Options that take a number: whatever is no usable number is refused in one line, everywhere."""

from collections.abc import Iterator
from functools import cache
from inspect import signature
from typing import Any, get_args

import pytest
import typer
from every_row import every_row

from labeler.cli import COMMANDS, execute
from labeler.cli.options import option_names, parser_of
from labeler.errors import Misuse

NO_NUMBERS = ["nan", "-nan", "inf", "-inf", "Infinity", "1e300", "-1e300", "1" + "0" * 400]
NO_NUMBERS += ["-1" + "0" * 30, "9" * 5000, "\u0663", "0x10", "", "1,000", "1e", "--", "\ud800"]


def options() -> Iterator[tuple[str, Any, Any]]:
    """Every option of every command whose value is a number, or a list of them."""
    for name, each in COMMANDS.items():
        command = parser_of(each)
        parameters = signature(command.callback, eval_str=True).parameters
        for option in command.params:
            parameter = parameters.get(option.name)
            if parameter and {int, float} & types_in(parameter.annotation):
                yield name, command, option


def types_in(annotation: Any) -> set[Any]:
    """A type, and all that it is made of."""
    return {annotation} | {each for part in get_args(annotation) for each in types_in(part)}


@cache
def options_of_all() -> list[tuple[str, Any, Any]]:
    """The same, found once."""
    return [*options()]


def refusal(command: Any, option: Any, value: str) -> str:
    """What is said of a value of an option, all that is required being given."""
    given = [f"{max(option.opts, key=len)}={value}"]
    for other in command.params:
        if other.required and other is not option:
            is_option = other.param_type_name == "option"
            given += [max(other.opts, key=len), "1"] if is_option else ["x"]
    try:
        command.main(given, prog_name="labeler", standalone_mode=False)
    except typer.TyperException as error:
        return str(error.format_message())
    except Misuse as error:
        return f"{option_names(command)[error.parameter]}: {error}"
    raise AssertionError(f"{value} was taken")


@every_row("words, command, option", options_of_all)
def test_no_option_takes_what_is_no_usable_number(words: str, command: Any, option: Any) -> None:
    for value in NO_NUMBERS:
        problem = refusal(command, option, value)
        assert max(option.opts, key=len) in problem
        assert "\n" not in problem
        assert len(problem) < 200


def test_the_walk_meets_every_kind_of_number() -> None:
    names = {option.name for _, _, option in options_of_all()}
    assert {"max_cost", "seconds", "draws", "seed", "depth", "differences", "k", "cut"} <= names
    assert len(options_of_all()) > 60


def test_a_number_out_of_bounds_is_2_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["agree", "a", "b", "--draws", "9" * 30]) == 2
    assert capsys.readouterr().err == ("labeler: --draws: expected 100 to 100,000\n")
