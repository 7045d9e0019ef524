"""What in a reply speaks against its verdict: another grade, a correction, a refusal. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

STATED = re.compile(
    r"\b(?:grade|score|relevance|rating)\**\s*(?:is|[:=])[\s*]*(-?[0-9]+)\b"
    r"(?!\s*(?:%|[-–/.,]\s*[0-9]|(?:to|or)\s+[0-9]))",
    re.IGNORECASE,
)
_MENTIONED = re.compile(
    r"(?<![^\W_])(?:graded?|scored?|rate[ds]?|rating|label|verdict|final answer"
    r"|relevanc[ey](?=(?:[^\w\n]{1,20}[^\W\d]{1,40}){0,2}[^\w\n]{1,20}[0-9])"
    r"|final(?=[\s*]*[:=])|I(?:['’]\w+| \w+)? (?:give|assign|choose))\b"
    r"(?:[^\w.!?;{}\n]{1,20}[^\W\d]{1,40}){0,6}[^\w.!?;{}\n]{1,20}?"
    r"(-?[0-9]+(?:\.[0-9]+)?)(?!\.?\w)(?!\s*(?:[-–—~]|to|through)\s*[0-9])",
    re.IGNORECASE,
)
"""A number close behind a word for a grade, in one sentence: too loose to be read as a verdict,
enough to doubt one. A range, as of the scale, is left out."""
_ENDS = r"(?=\s*(?:[.,;:)*<\"'\n]|$|because\b|since\b|out of\b))(?!\.[0-9])"
_CONCLUDED = re.compile(
    r"\\boxed\{\s*(-?[0-9]+)\s*\}|"
    r"(?<![^\W_])(?:answer|result|score|grade)\W{0,4}(?:is|[:=>])[^\w-]{0,4}(-?[0-9]+)"
    + _ENDS
    + r"|"
    r"\b(?:therefore|thus|hence|so)[^\w-]{1,3}(-?[0-9]+)" + _ENDS + r"|"
    r"\b(?:gave|gives?|deserves|merits|earns|gets|receives)\b[^.!?\n{}]{0,40}\ban?\s+\**([0-9]+)"
    + _ENDS,
    re.IGNORECASE,
)
"""A number that ends what a sentence concludes, or a box."""
_SPELLED = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
_WORD = rf"({'|'.join(_SPELLED)})"
_IN_WORDS = re.compile(
    r"(?<![^\W_])(?:graded?|scored?|rate[ds]?|rating|label|verdict|relevance|answer)"
    r"(?:\W{1,4}(?:is|of|as|an?|this|it|the|passage|therefore|thus|be|at|to|would)\b){0,6}"
    rf"\W{{1,4}}{_WORD}\b{_ENDS}|^[ \t*]{{0,20}}{_WORD}[ \t*.]{{0,20}}\r?$",
    re.IGNORECASE | re.MULTILINE,
)
"""A grade spelled as a word, right behind a word for a grade, or alone on its line."""
_MOST_DIGITS = 30
_NUMBER = rf"(-?[0-9]{{1,3}}|{'|'.join(_SPELLED)})\b"
_FITS = (
    r"\s+(?:is|was|would be|might be|may be|seems?|feels?|fits?|sounds?)\s+(?:\w+\s+)?"
    r"(?:right|correct|better|best|accurate|fair|fairer|appropriate|apt|closer)\b"
    r"(?![^.!?\n]{0,40}\b(?:if|had|than)\b)"
)
_CORRECTED = re.compile(
    r"(?:\b(?:correction|corrected|edit|edited|erratum|update|updated|revised|reconsider\w*"
    r"|(?:on|upon|after) (?:\w+ )?(?:reflection|thoughts?|review)|wait|oops|actually|scratch that"
    r"|sorry|i mean|i meant|make (?:it|that)|should (?:really |actually )?(?:be|have been|get|say)"
    r"|or (?:maybe|perhaps|possibly|even|rather)|more like|rather|instead|closer to"
    r"|(?:chang|lower|rais|revis|downgrad|upgrad)\w+(?: (?:it|this|that|my \w+))? to"
    r"|lean\w*(?: towards?)?|go(?:ing)? (?:with|for)|i(?:['’]d| would|['’]ll)?"
    r" (?:say|think|guess))\b"
    r"|->|=>|→|⇒|➜)"
    rf"[^\d.!?\n{{}}]{{0,30}}?(?<![\w.]){_NUMBER}(?:{_ENDS}|{_FITS})"
    r"|\b(?:it|this|that|passage|document)(?:['’]s| is|['’]d be| would be)\s+an?\s+\**"
    rf"{_NUMBER}{_ENDS}"
    rf"|(?<![\w.]){_NUMBER}{_FITS}",
    re.IGNORECASE,
)
"""A number behind words that correct, hesitate or sum up, or one that is said to be right."""
_OR = re.compile(rf"\A[\s`*]*or\s+{_NUMBER}", re.IGNORECASE)
_ALONE = re.compile(
    r"^[ \t*]{0,20}(?:[-•][ \t]+)?[(\[*]{0,4}(-?[0-9]+)[)\]*]{0,4}[ \t*]{0,20}\r?$", re.MULTILINE
)
_ALIAS = re.compile(
    r"(?:(?:final|overall|relevance|relevancy)[\W_]*)?"
    r"(?:grade|score|relevance|relevancy|rating|label|verdict)(?:[\W_]*(?:level|value))?",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)(?!\.?\w)", re.ASCII)


def mentioned_grades(text: str) -> list[float]:
    """The numbers that prose names as a grade, in digits or as a word."""
    ways = (STATED, _MENTIONED, _CONCLUDED, _ALONE, _IN_WORDS, _CORRECTED)
    return [_number(one[one.lastindex or 1]) for way in ways for one in way.finditer(text)]


def grades_after(text: str) -> list[float]:
    """The grade that a verdict leaves room for, as `or 2` right behind it."""
    also = _OR.match(text)
    return [_number(also[1])] if also else []


def integer(written: str) -> int:
    """An integer in digits; of a longer one than any scale has, its first digits."""
    digits = written.lstrip("-0")[:_MOST_DIGITS]
    return int(digits or "0") * (-1 if written.startswith("-") else 1)


def _number(written: str) -> float:
    spelled = _SPELLED.get(written.lower())
    if spelled is not None:
        return float(spelled)
    return float(written) if "." in written else float(integer(written))


_APOLOGY = re.compile(
    r"\A\W*(i['’]?m (very )?sorry|sorry\b|i apologi[sz]e|i (can['’]?t|cannot|can not|won['’]?t)\b"
    r"|i['’]?m (unable|not able)|i am (sorry|unable|not able)|as an ai\b|unfortunately,? i )",
    re.IGNORECASE,
)
_TASK = r"(?:scor|grad|rat(?:e|ing)|judg|assess|evaluat|verdict|answer|respon|opinion|relevan)\w*"
_MORE = r"(?:high|better|full|perfect|top|max|great|good|more|above|beyond|low|less|below)\w*"
_REFUSES = re.compile(
    r"\b(?:i|we)(?:\s+\w+ly|\s+must|\s+also|\s+just)?\s*(?:"
    r"(?:can['’]?t|cannot|can not|can\W+not|won['’]?t|will not|could not|couldn['’]?t|may not"
    r"|(?:['’]?m|am|['’]?re|are)\s+(?:\w+ly\s+)?(?:unable to|not able to|not allowed to"
    r"|not permitted to|not going to|not in a position to|not comfortable(?: with)?"
    r"|not qualified to|incapable of)"
    r"|(?:do not|don['’]?t) (?:feel comfortable|have the ability to|wish to|want to))"
    r"(?:\s+\w+ly|\s+even|\s+just|\s+and will not|\s+or will not)?"
    r"(?:\s*(?:[.!;,]|$)|\s+(?:assist|help(?! but\b| noticing)|fulfil|comply|engage|process\b"
    r"|proceed|participate|continue|do (?:this|that|it|so)\b|make (?:this|that|such)"
    r"|answer(?![^.!?\n]{0,40}\b(?:from|with|using|based|by)\b)"
    r"|respond|complete|(?:grad|judg|rat(?:e|ing)\b|evaluat|assess|scor)\w*"
    rf"(?![^.!?\n]{{0,30}}\b(?:{_MORE}|as (?:an?|fully|highly|partially|anything|\w*relevant)\b))"
    rf"|(?:give|assign|provide|offer|produce|supply)\b(?: (?!{_MORE})[\w'’-]+){{0,4}}? {_TASK}))"
    r"|(?:(?:must|have to|will|would|['’]ll|am going to|need to)\s+)?"
    r"(?:respectfully\s+|politely\s+)?(?:decline|refuse|abstain|refrain)\b)"
    r"|\b(?:can\s?not|can['’]t|could not|couldn['’]t) be (?:\w+ly )?"
    r"(?:grad|judg|rat|evaluat|assess|scor)ed\b"
    r"|\b(?:not|im)\s*possible (?:for me )?to (?:grade|judge|rate|evaluate|assess|score)\b"
    r"|\bas an ai\b[^.!?\n]{0,60}\b(?:can['’]?t|cannot|not|unable|n['’]t)\b",
    re.IGNORECASE | re.MULTILINE,
)
_APOLOGIES = re.compile(
    r"抱歉|对不起|對不起|申し訳|できません|죄송|\blo siento\b|\bd[ée]sol[ée]e?\b"
    r"|\bes tut mir leid\b|\bmi dispiace\b|\bdesculpe\b|извините|к сожалению, я",
    re.IGNORECASE,
)
_WITHDRAWS = re.compile(
    r"\b(?:scratch that|take (?:that|it) back|chang(?:e|ed|ing) my mind"
    r"|let me re(?:consider|think|do)"
    r"|(?:ignore|disregard) (?:that|this|the (?:above|previous|score|grade)|my)"
    r"|no,? wait|wait,? no"
    r"|(?:that|this|it|above|which|[0-9])(?:['’]s| is| was) (?:wrong|incorrect|a mistake|not right"
    r"|not correct|an error)|on a(?:nother)? scale where|i (?:made a mistake|was wrong))\b",
    re.IGNORECASE,
)


def apologizes(text: str) -> bool:
    """Whether a text without a verdict is a refusal, and not only no answer."""
    return bool(_APOLOGY.match(text)) or refuses(text)


def refuses(text: str) -> bool:
    """Whether a text says that no judgement will be made, wherever in it and however politely."""
    return bool(_REFUSES.search(text))


def doubts(around: str, after: str) -> str | None:
    """How the prose around a verdict speaks against it without a number, None where it does not.

    What is withdrawn before the verdict is an earlier thought.
    """
    if refuses(around) or _APOLOGIES.search(around):
        return "refuses"
    return "withdraws it" if _WITHDRAWS.search(after) else None


def said_inside(value: object) -> Iterator[str]:
    """The texts that an object holds, however deep."""
    return (held for _, held in entries_inside(value) if isinstance(held, str))


def named_grades(value: object) -> Iterator[float]:
    """The numbers that stand under a name for a grade, however deep and also as text."""
    for name, held in entries_inside(value):
        written = _LEADING.match(str(held)) if type(held) in (int, float, str) else None
        if written and _ALIAS.fullmatch(name.strip()):
            yield float(written[1])


def entries_inside(value: object) -> Iterator[tuple[str, object]]:
    """Every key of the objects inside, with what it holds."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield from inner.items()
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
