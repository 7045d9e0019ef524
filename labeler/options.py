"""One place for an option: a field of a record says what it means, and all else is made of that.

The command line makes flags of such fields, and takes those of a section from `labeler.toml` and
`--set`; the reference lists them; `check_options` refuses values out of bounds, in a notebook as on
a command line.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from labeler.errors import Misuse


class Bounds(NamedTuple):
    """The least and the largest number that an option takes; NaN lies in none."""

    least: float
    most: float

    def hold(self, value: object, *, whole: bool = False) -> bool:
        """Whether a value is a number between the two, and where asked for a whole one."""
        is_number = isinstance(value, int if whole else int | float)
        return is_number and not isinstance(value, bool) and self.least <= value <= self.most  # type: ignore[operator]  # a number


COUNT = Bounds(1, 10**9)
COUNT_OR_NONE = Bounds(0, 10**9)
CANDIDATES = Bounds(1, 1000)
AT_ONCE = Bounds(1, 4096)
TOKENS = Bounds(0, 10**12)
DOLLARS = Bounds(0, 10**9)
A_MINUTE = Bounds(0.001, 10**12)
SECONDS = Bounds(0, 10**7)
SECONDS_OF_A_CALL = Bounds(0.001, 10**7)
PORT = Bounds(0, 65_535)
SEED = Bounds(0, 2**62)
DRAWS = Bounds(100, 10**5)
GRADE = Bounds(-(2**31) + 1, 2**31 - 1)
TOP_GRADE = Bounds(1, 1000)
SHARE = Bounds(0, 1)
WIDTH = Bounds(0.001, 1000)
WORDS = Bounds(20, 5000)
SIZE = Bounds(0.00001, 10**9)


@dataclass(frozen=True, slots=True)
class Option:
    """What is said of an option, beside its name, type and default, which are the field's.

    `metavar` stands for its value in help, `panel` is its heading there. `flags` are its spellings,
    with a blank between, where it is not called as its field; a `rare` one stands in `--help-all`
    alone. One of a `section` is said once for a project, in `labeler.toml` or by
    `--set SECTION.KEY=VALUE`; it has a flag as well where `flag` says so. `usual` is shown where
    the default itself says nothing, and `example` is a value for the file. `variable` is the
    environment's, which comes before the file. What `is_address` and comes from a file is asked
    once a person has trusted it. `read` makes a value of a text, or raises `Misuse`.
    """

    text: str
    bounds: Bounds | None = None
    metavar: str = ""
    panel: str = ""
    flags: str = ""
    rare: bool = False
    section: str = ""
    key: str = ""
    flag: bool = False
    usual: str = ""
    example: object = None
    variable: str = ""
    is_address: bool = False
    read: Callable[[Any], Any] | None = None
    several: bool = False


Record = TypeVar("Record")
_KEY = "option"
STRICT = {"strict": True, "extra": "forbid"}
"""How pydantic reads records: no further keys, and nothing converted."""

UNSET: Any = object()
"""Stands for the value of an option that nobody gave."""

OUTPUT = "Output"
"""The panel of help that says where results go, which nearly all commands have."""

REQUIRED = MISSING
"""The default of an option that has to be given."""


def option(default: Any, text: str | Option, bounds: Bounds | None = None, **settings: Any) -> Any:
    """A field of a record, or the default of a command's parameter, that is an option.

    What is said of it is an `Option`, or what makes one. A function or a type as default makes one.
    """
    declaration = text if isinstance(text, Option) else Option(text, bounds, **settings)
    if isinstance(default, FunctionType | type):
        return field(default_factory=default, metadata={_KEY: declaration})
    return field(default=default, metadata={_KEY: declaration})


class Declared(NamedTuple):
    """An option of a record: the field's name, type and default, and what is said of it."""

    name: str
    kind: Any
    default: Any
    option: Option

    @classmethod
    def of(cls, name: str, kind: Any, declaration: Field[Any]) -> Declared:
        """The option that a field is; `is_option` says whether it is one."""
        is_made = declaration.default_factory is not MISSING
        default = UNSET if is_made else declaration.default
        return cls(name, kind, default, declaration.metadata[_KEY])

    def shown_in(self, marks: Iterable[Container[str]]) -> Declared:
        """The same with a flag that help shows, where one of the marks of a command names it."""
        if not any(self.name in mark for mark in marks):
            return self
        return self._replace(option=replace(self.option, flag=True, rare=False))

    @property
    def has_flag(self) -> bool:
        """Whether a command line has a flag for it."""
        return self.option.flag or not self.option.section

    @property
    def key(self) -> str:
        """Its name in its section of `labeler.toml`."""
        return self.option.key or self.name

    @property
    def setting(self) -> str:
        """Its name for `--set`, as `model.rpm`; empty where it is not said for a project."""
        return f"{self.option.section}.{self.key}" if self.option.section else ""

    @property
    def example(self) -> Any:
        """A value to show: the one that is declared for that, else the default."""
        return self.default if self.option.example is None else self.option.example

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of a value: those of a union, without None."""
        is_union = get_origin(self.kind) in (Union, UnionType)
        parts = get_args(self.kind) if is_union else (self.kind,)
        return tuple(part for part in parts if part is not NoneType)

    @property
    def kind_of_each(self) -> Any:
        """The type of each value where it takes any number of them, else None."""
        for kind in self.kinds:
            if get_origin(kind) in (tuple, Sequence) and get_args(kind)[1:] in ((), (...,)):
                return get_args(kind)[0]
        return None

    def converted(self, value: Any) -> Any:
        """A value of a file as one of the field's type; `Misuse` where it is out of bounds."""
        if self.option.read is not None:
            value = self.option.read(value)
        elif Path in self.kinds:
            value = Path(value)
        elif isinstance(value, list):
            value = tuple(value)
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Raise `Misuse` where a value is out of bounds, or none of the choices."""
        bounds, kind = self.option.bounds, self.kinds[0]
        if get_origin(kind) is Literal and value is not None and value not in get_args(kind):
            listed = " or ".join(map(str, get_args(kind)))
            raise Misuse(f"{self.name} is {listed}, not {value!r:.60}", parameter=self.name)
        if bounds is None or (isinstance(value, bool) and bool in self.kinds):
            return
        whole = float not in (*self.kinds, self.kind_of_each)
        are_several = self.kind_of_each is not None and isinstance(value, list | tuple)
        for each in value if are_several else [value]:
            if each is not None and not bounds.hold(each, whole=whole):
                problem = f"expected {bounds.least:,} to {bounds.most:,}"
                raise Misuse(problem, parameter=self.name)


def is_option(declaration: object) -> bool:
    """Whether a field, or the default of a parameter, is an option."""
    return isinstance(declaration, Field) and _KEY in declaration.metadata


@cache
def declared(record: Any) -> Mapping[str, Declared]:
    """The options of a record, by the names of its fields; what it shares with others is last."""
    hints, own_first = get_type_hints(record), sorted(fields(record), key=lambda f: bool(f.kw_only))
    return {f.name: Declared.of(f.name, hints[f.name], f) for f in own_first if is_option(f)}


@cache
def records_in(record: Any) -> Mapping[str, type]:
    """The records among the fields of a record that have options, by the names of the fields."""
    hints = get_type_hints(record)
    own = [f.name for f in fields(record) if not is_option(f)]
    inner = {name: hints[name] for name in own if is_dataclass(hints[name])}
    return {name: kind for name, kind in inner.items() if any(True for _ in options_of(kind))}


def options_of(record: Any) -> Iterator[Declared]:
    """The options of a record, and of those inside it."""
    yield from declared(record).values()
    for inner in records_in(record).values():
        yield from options_of(inner)


def filled(record: Any, value_of: Callable[[Declared], Any]) -> Any:
    """A record or a copy of one, and those inside, with what `value_of` gives for each option.

    Where that is `UNSET`, the default stays: that of the record that it stands in.
    """
    kind = record if isinstance(record, type) else type(record)
    values = {each.name: value_of(each) for each in declared(kind).values()}
    values = {name: value for name, value in values.items() if value is not UNSET}
    for each in fields(kind):
        if each.name in records_in(kind):
            own = None if record is kind else getattr(record, each.name)
            values[each.name] = filled(own or _default(each), value_of)
    return kind(**values) if record is kind else replace(record, **values)


def _default(declaration: Field[Any]) -> Any:
    """The record that a field has by default."""
    factory = declaration.default_factory
    return declaration.default if factory is MISSING else factory()


def given(record: type[Record], options: Record | None, settings: Mapping[str, Any]) -> Record:
    """Options, by default those of a record, with settings by the names of their fields.

    A setting that is no field of the record itself is one of the first record inside that has it.
    """
    whole: Any = record() if options is None else options
    left = dict(settings)
    own = {f.name: left.pop(f.name) for f in fields(whole) if f.name in left}
    kind_of_all: Any = type(whole)
    for name, kind in records_in(kind_of_all).items():
        names = {f.name for f in fields(kind)} | {each.name for each in options_of(kind)}
        if inner := {n: left.pop(n) for n in [*left] if n in names}:
            own[name] = given(kind, own.get(name, getattr(whole, name)), inner)
    changed: Record = replace(whole, **own, **left)  # which refuses what is no field
    return changed


@cache
def _checked(record: Any) -> tuple[Declared, ...]:
    """The options of a record of which a value may be wrong: they have bounds, or choices."""
    return tuple(
        each
        for each in declared(record).values()
        if each.option.bounds is not None or get_origin(each.kinds[0]) is Literal
    )


def check_options(record: object) -> None:
    """Raise `Misuse`, which names the field, where an option of a record is out of its bounds."""
    kind: Any = type(record)
    for each in _checked(kind):
        each.check(getattr(record, each.name))


class Options:
    """A record of options, held to their bounds when it is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)
