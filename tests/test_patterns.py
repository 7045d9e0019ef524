"""No regular expression of the package takes much more time than its text is long."""

import ast
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # the standard library's own
from typing import Any, NamedTuple

import pytest

import labeler

METHODS = ("match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split")
CALLED = re.compile(rf"(\w+)\.({'|'.join(METHODS)})\b")
IMPORTS_RE = re.compile(r"^\s*import re$", re.MULTILINE)
SHORT, TIMES = 500, 8
NOISE = 0.015  # seconds; what takes less is not compared


class Use(NamedTuple):
    """A pattern of a module, and a method that something calls of it."""

    place: str
    text: str | bytes
    method: str


@cache
def uses() -> list[Use]:
    """Every pattern that is a constant, with each of the ways in which it is used."""
    texts = {path: path.read_text() for path in sorted(Path(labeler.__file__).parent.rglob("*.py"))}
    methods: dict[str, set[str]] = {}
    for text in texts.values():
        for name, method in CALLED.findall(text):
            methods.setdefault(name, set()).add(method)
    with_patterns = {
        path: ast.parse(text) for path, text in texts.items() if IMPORTS_RE.search(text)
    }
    everywhere = [use for item in with_patterns.items() for use in _uses_in(*item, methods)]
    return sorted(set(everywhere), key=str)


def _uses_in(path: Path, tree: ast.Module, methods: dict[str, set[str]]) -> Iterator[Use]:
    names: dict[str, Any] = {"re": re}
    for node in tree.body:  # the texts that patterns are put together from
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            names[name] = _value(node.value, names)
            if isinstance(names[name], re.Pattern):
                for method in methods.get(name, METHODS):
                    yield Use(f"{path.parent.name}/{path.name} {name}", names[name].pattern, method)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            method = call.func.attr
            if method in METHODS and ast.unparse(call.func.value) == "re":
                text = _value(call.args[0], names)
                if isinstance(text, str | bytes):
                    yield Use(f"{path.parent.name}/{path.name}", text, method)


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What an expression of literals and such names is; None of any other."""
    try:
        return eval(compile(ast.Expression(node), "", "eval"), {}, names)  # our own source
    except Exception:  # it needs what is known only while the program runs
        return None


Texts = Callable[[str, int], Iterator[str]]
"""The texts of about a size on which a pattern is tried."""


def repeated(pattern: str, size: int) -> Iterator[str]:
    """Texts of one character that the pattern names, or that many patterns do."""
    for character in _fill(pattern):
        yield character * size


def _fill(pattern: str) -> list[str]:
    return list(dict.fromkeys([" ", "a", "1", "\n", *_literals(pattern)[1]]))[:12]


def hostile(pattern: str, size: int) -> Iterator[str]:
    """Texts that repeat what the pattern names, after what may begin a match."""
    yield from repeated(pattern, size)
    literals, fill = _literals(pattern)[0], _fill(pattern)
    for literal, character in product(literals[:10], fill[:7]):
        yield literal + character * size
        yield (literal + character) * (size // (len(literal) + 1))
    for first, second in product(fill[:7], repeat=2):
        yield (first + second) * (size // 2)


def _literals(pattern: str) -> tuple[list[str], list[str]]:
    """The words and the characters that stand in a pattern."""
    words, characters = [""], list[str]()

    def walk(parsed: Any) -> None:
        for operation, argument in parsed:
            if str(operation) == "LITERAL":
                words[-1] += chr(argument)
                characters.append(chr(argument))
                continue
            words.append("")
            for part in argument if isinstance(argument, tuple | list) else ():
                for inner in part if isinstance(part, list) else [part]:
                    if isinstance(inner, _parser.SubPattern):
                        walk(inner)
            if str(operation) == "IN":
                characters.extend(chr(a) for o, a in argument if str(o) == "LITERAL")
            words.append("")

    walk(_parser.parse(pattern))
    return list(dict.fromkeys(filter(None, words))), characters


SEVERAL = ("sub", "subn", "findall", "finditer", "split")
"""They take the same time to find what they give or replace."""


def searches() -> list[Use]:
    """One use of each pattern and way of searching, whatever becomes of what is found."""
    alike = {(use.text, "all" if use.method in SEVERAL else use.method): use for use in uses()}
    return [*alike.values()]


def seconds(use: Use, text: str) -> float:
    """How long one use takes, all matches of it."""
    pattern = re.compile(use.text)
    given: Any = text if isinstance(use.text, str) else text.encode("latin-1", "replace")
    start = time.process_time()
    if use.method in SEVERAL:
        for _ in pattern.finditer(given):
            pass
    else:
        getattr(pattern, use.method)(given)
    return time.process_time() - start


def slow_texts(use: Use, size: int, texts: Texts = hostile) -> Iterator[str]:
    """Texts for which eight times the length takes more than 25 times as long."""
    pattern = use.text if isinstance(use.text, str) else use.text.decode("latin-1")
    for number, long in enumerate(texts(pattern, TIMES * size)):
        if seconds(use, long) > NOISE:
            short = next(islice(texts(pattern, size), number, None))
            once = min(seconds(use, short) for _ in range(3))
            if min(seconds(use, long) for _ in range(3)) > max(NOISE, 25 * once):
                yield long[:30]


def test_every_pattern_is_found() -> None:
    assert len(uses()) > 100


def test_no_pattern_is_slow_on_one_character_again_and_again() -> None:
    slow = {use: list(slow_texts(use, SHORT, repeated)) for use in searches()}
    assert not {use: texts for use, texts in slow.items() if texts}


@pytest.mark.sweep
def test_no_pattern_is_slow() -> None:
    slow = {use: list(slow_texts(use, SHORT)) for use in searches()}
    assert not {use: texts for use, texts in slow.items() if texts}


@pytest.mark.slow
def test_no_pattern_is_slow_on_a_longer_text() -> None:
    slow = {use: list(slow_texts(use, 8 * SHORT)) for use in searches()}
    assert not {use: texts for use, texts in slow.items() if texts}
