"""Measures by name: `nDCG@10`, `P(rel=2)@10`, as ir_measures writes them, and they read back."""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.files.boundary import finite
from labeler.metrics.rankings import Rankings

# What other tools call measures: trec_eval, pytrec_eval, ir_measures, ranx, BEIR, MTEB.
#
# A name stands here only where the tool's number is the one that the measure here gives; names
# whose number is another one stand in `REFUSED`, with the reason.

SPELLINGS = {
    "accuracy@": "Success@",
    "average_precision": "AP",
    "dcg_burges": "DCG(dcg='exp-log2')",
    "f1_score": "F1",
    "gm_map": "GMAP",
    "hit": "Success",
    "hit_rate": "Success",
    "hit_ratio": "Success",
    "hitrate": "Success",
    "iprec_at_recall": "IPrec",
    "map": "AP",
    "mean_average_precision": "AP",
    "mean_reciprocal_rank": "RR",
    "mrr": "RR",
    "ndcg_burges": "nDCG(dcg='exp-log2')",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_ret": "NumRet",
    "precision": "P",
    "q": "Q-measure",
    "r-precision": "Rprec",
    "r_precision": "Rprec",
    "recall": "R",
    "recip_rank": "RR",
    "reciprocal_rank": "RR",
    "set_f": "SetF",
    "set_p": "SetP",
    "set_recall": "SetR",
    "top_k_accuracy": "Success",
}
"""Names in lower case to those here. One that ends with `@` is meant with a cutoff alone."""

_COUNTS = (
    "counts relevant documents in ranx and queries with one elsewhere: "
    "P@{k} is the count over {k}, Success@{k} the share of queries"
)
_TREC_EVAL = "is trec_eval's and no measure here; the command trec-eval prints it"
REFUSED = {
    "accuracy": "is of pairs of documents in ir_measures and not here; Accuracy@10 is Success@10",
    "hits": _COUNTS,
    "hole": "is the share that is not judged, 1 - Judged@{k}; ask for Judged@{k}",
    "map_cut": "needs a cutoff, as map_cut_10, which is AP@10 here",
    "ndcg_cut": "needs a cutoff, as ndcg_cut_10, which is nDCG@10 here",
    "r_cap": "divides by the smaller of k and the relevant documents; ask for R@{k} or Rprec",
    "rbp.": "adds grades up in ranx; RBP(rel=1,p=0.{k}) counts documents as relevant or not",
    "set_map": _TREC_EVAL,
    **{
        name.lower(): _TREC_EVAL
        for name in (
            *("11pt_avg", "binG", "G", "gm_bpref", "ndcg_rel", "num_nonrel_judged_ret"),
            *("relative_P", "relstring", "Rndcg", "Rprec_mult", "set_relative_P", "utility"),
        )
    },
}
"""Names in lower case that mean something else elsewhere, and what to ask for instead."""

_PARTS = re.compile(
    r"(?i)(?P<name>[a-z0-9][a-z0-9_-]*?)"
    r"(?P<inside>\(.*\))?"
    r"(?:(?P<sign>@|\.|_at_|_cut_|_cut\.|_)(?P<cutoff>[0-9][0-9.]{0,20}))?",
)


def _canonical(text: str) -> str:
    """The name here of a measure that another tool or another hand spells so; empty if unknown.

    `Misuse` of a name that means something else elsewhere says what to ask for.
    """
    parts = _PARTS.fullmatch(text.strip())
    if parts is None:
        return ""
    name, cutoff, inside = parts["name"].lower(), parts["cutoff"] or "", parts["inside"] or ""
    meant = SPELLINGS.get(f"{name}@", "").rstrip("@") if cutoff else ""
    if not meant:
        why = REFUSED.get(f"{name}.", "") if parts["sign"] == "." else ""
        if not (cutoff and name.endswith("_cut")):
            why = REFUSED.get(name, why)
        if why:
            raise Misuse(f"{text!r} {why.format(k=cutoff or 10)}")
        meant = SPELLINGS.get(name) or _registered().get(name, "")
    if "(" in meant and inside:
        meant, inside = meant.partition("(")[0], f"({meant.partition('(')[2][:-1]},{inside[1:]}"
    return f"{meant}{inside}" + (f"@{cutoff}" if cutoff else "") if meant else ""


Value = int | float | bool | str
Function = Callable[..., Floats]
F = TypeVar("F", bound=Function)

_NAME = re.compile(r"([A-Za-z][\w-]*?)(?:\((.*)\))?(?:@([\d.]+))?")
_GAINS = {"linear": "log2", "exp": "exp-log2"}
_CHOICES = {"dcg": tuple(_GAINS.values())}
_RANGES = {"rel": (0, 2**31 - 1), "p": (0, 0.9999), "beta": (0, 1e9)}
_WORD = re.compile(r"(?:[^\s,(]|\([^()]*\))+")


@dataclass(frozen=True)
class Definition:
    """A measure's function, how its queries are summed up, and what its name may say.

    `summary` is `mean`, `share` (a mean of ones and zeros), `sum` or `geometric`. `cutoff` is the
    type of its cutoff, None where it takes none. `defaults` are the parameters that stand in
    parentheses.
    """

    name: str
    family: str
    summary: str
    function: Function
    cutoff: type | None
    needs_cutoff: bool
    defaults: Mapping[str, Value | None]

    @property
    def description(self) -> str:
        """The first line of the function's docstring."""
        return (inspect.getdoc(self.function) or "").splitlines()[0]


MEASURES: dict[str, Definition] = {}
"""All measures, by name, in the order in which help texts list them."""


def measure(name: str, family: str, summary: str = "mean") -> Callable[[F], F]:
    """Register a function of `Rankings`, its cutoff and its parameters under `name`."""

    def register(function: F) -> F:
        parameters = dict(inspect.signature(function).parameters)
        parameters.pop(next(iter(parameters)))
        cutoff = parameters.pop("cutoff", None)
        kind = None if cutoff is None else float if cutoff.annotation == "float" else int
        is_needed = cutoff is not None and cutoff.default is inspect.Parameter.empty
        defaults = {key: parameter.default for key, parameter in parameters.items()}
        MEASURES[name] = Definition(name, family, summary, function, kind, is_needed, defaults)
        return function

    return register


@dataclass(frozen=True)
class Measure:
    """A measure with its cutoff and the parameters that differ from their defaults."""

    name: str
    cutoff: int | float | None = None
    parameters: tuple[tuple[str, Value], ...] = ()
    judged_only: bool = False

    def __str__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self.parameters]
        shown += ["judged_only=True"] if self.judged_only else []
        inside = f"({','.join(shown)})" if shown else ""
        return f"{self.name}{inside}" + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def definition(self) -> Definition:
        """What the registry holds under its name."""
        return MEASURES[self.name]

    def per_query(self, rankings: Rankings) -> Floats:
        """The value for each query; `nan` where the measure is undefined."""
        seen = rankings.condensed if self.judged_only else rankings
        cutoff = () if self.cutoff is None else (self.cutoff,)
        return self.definition.function(seen, *cutoff, **dict(self.parameters))


@lru_cache(maxsize=1024)
def parse(text: str) -> Measure:
    """The measure that `text` names; `Misuse` says what is wrong and what is known."""
    name, inside, cutoff = _split(text)
    arguments = _parameters(text, inside)
    # with a level of relevance, the NumRet of ir_measures counts the relevant ones
    is_of_relevant = name == "NumRet" and "rel" in arguments
    definition = MEASURES.get("NumRelRet" if is_of_relevant else name)
    if definition is None:
        raise Misuse(_unknown(name, text))
    judged_only = arguments.pop("judged_only", False)
    if not isinstance(judged_only, bool):
        raise Misuse(f"{text}: judged_only is True or False")
    parameters = tuple(
        (key, _typed(text, key, arguments.pop(key), default))
        for key, default in definition.defaults.items()
        if key in arguments and arguments[key] != default
    )
    arguments = {key: value for key, value in arguments.items() if key not in definition.defaults}
    if arguments:
        names = ", ".join([*definition.defaults, "judged_only"])
        raise Misuse(
            f"{text}: {definition.name} has no parameter {next(iter(arguments))!r}: {names}"
        )
    return Measure(definition.name, _cutoff(definition, text, cutoff), parameters, judged_only)


def _split(text: str) -> tuple[str, str, str | None]:
    """The registry's name, what stands in parentheses, and the cutoff, in anybody's spelling."""
    match = _NAME.fullmatch(text.strip())
    if match is None or match[1] not in MEASURES:
        match = _NAME.fullmatch(_canonical(text)) or match
    if match is None or text.count("(") != text.count(")"):
        raise Misuse(f"cannot read the measure {text!r}; write it as P@10 or P(rel=2)@10")
    return match[1], match[2] or "", match[3]


def _registered() -> dict[str, str]:
    """The names of the registry by their lower case."""
    return {name.lower(): name for name in MEASURES}


def parse_all(texts: str | Sequence[object]) -> list[Measure]:
    """The measures that `texts` name, each once, in order; names may be joined by spaces.

    Those of `ir_measures` are taken by their names.
    """
    measures: list[Measure] = []
    for text in [texts] if isinstance(texts, str) else texts:
        measures += [text] if isinstance(text, Measure) else map(parse, _words(str(text)))
    return list(dict.fromkeys(measures))


def _words(text: str) -> list[str]:
    """The names in a text, which spaces outside of parentheses keep apart."""
    if text.count("(") != text.count(")"):
        problem = "a parenthesis is opened or closed alone; as in P(rel=2)@10"
        raise Misuse(f"cannot read the measure {text!r}: {problem}")
    return _WORD.findall(text)


def renamed(texts: Sequence[str]) -> dict[str, str]:
    """The names as they were given to the names that they go by, where more than case differs."""
    words = [word for text in texts for word in _words(text)]
    names = {word: str(parse(word)) for word in words}
    return {
        word: name
        for word, name in names.items()
        if "".join(word.split()).replace('"', "'").lower() != name.lower()
    }


def _unknown(name: str, text: str) -> str:
    names = _registered() | {spelled: spelled for spelled in SPELLINGS if spelled[-1] != "@"}
    letters, depth = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
    close = difflib.get_close_matches(letters.lower(), names, n=1)
    meant = names[close[0]] + (f"@{depth}" if depth else "") if close else ""
    hint = f"did you mean {text.replace(name, meant, 1)!r}? " if close else ""
    return f"no measure {text!r}; {hint}known: {', '.join(MEASURES)}"


def _parameters(text: str, inside: str) -> dict[str, Any]:
    """`rel=2,dcg='exp-log2'` as a dict; bare words are taken as strings."""
    arguments = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise Misuse(f"{text}: expected name=value in the parentheses, found {part!r}")
        try:
            arguments[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):  # of thousands of brackets
            arguments[key] = value
    if "gain" in arguments:
        gain = arguments.pop("gain")
        if gain not in _GAINS:
            raise Misuse(f"{text}: gain is linear or exp, not {gain!r}")
        arguments["dcg"] = _GAINS[gain]
    return arguments


def _typed(text: str, key: str, value: Any, default: Value | None) -> Value:
    kind = int if default is None else type(default)
    low, high = _RANGES.get(key, (-math.inf, math.inf))
    if type(value) in {int, float} and finite(value, low, high) is None:
        raise Misuse(
            f"{text:.80}: {key} lies between {low:.12g} and {high:.12g}, not at {value!r:.20}"
        )
    value = float(value) if kind is float and type(value) is int else value
    if type(value) is not kind:
        raise Misuse(f"{text}: expected {key} to be of type {kind.__name__}, found {value!r:.40}")
    if value not in _CHOICES.get(key, (value,)):
        raise Misuse(f"{text}: {key} is one of {', '.join(_CHOICES[key])}, not {value!r}")
    return value


def _cutoff(definition: Definition, text: str, cutoff: str | None) -> int | float | None:
    name, kind = definition.name, definition.cutoff
    if cutoff is None:
        if definition.needs_cutoff:
            example = "0.1" if kind is float else "10"
            raise Misuse(f"{text}: {name} needs a cutoff, as {name}@{example}")
        return None
    if kind is None:
        raise Misuse(f"{text}: {name} takes no cutoff")
    with suppress(ValueError):
        value: int | float = kind(cutoff)
        if (0 <= value <= 1) if kind is float else (1 <= value < 2**31):
            return value
    raise Misuse(f"{text}: the cutoff {cutoff!r} makes no sense")
