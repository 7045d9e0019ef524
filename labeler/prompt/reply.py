"""The reader that a prompt declares for its replies: how a grade stands in a text. Pure.

Decoration is no failure, and ambiguity is one: two grades, a fraction, a grade off the scale, a
refusal, and a grade that is taken back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn

from labeler.errors import Misuse
from labeler.text.objects import OBJECT, after_thoughts, has_open_thought, members_named, objects_in

# What stands round a grade in a reply: whether it refuses, corrects, or names another grade. Pure.
#
# No grade is taken from these words. Prose is decoration, in any language, unless it says in words
# that are listed here that the grade beside it does not hold; a reply that says so has no grade.

_REFUSALS = re.compile(
    "as an ai |i apologize|i apologise|i'm sorry, |i am sorry, |sorry, i |i'm unable to |"
    "i am unable to |we are unable to |i'm not able to |i am not able to |"
    "i cannot assist|i can't assist|i cannot help with|i can't help with|"
    r"i cannot grade this (?:content|passage)|"
    r"i cannot judge this (?:content|passage)|i won't provide|i must decline|"
    "i'm not comfortable|i am not comfortable|cannot be graded|cannot be judged|"
    "not possible to grade|not possible to judge|i will not grade|cannot fulfil|"
    "can't fulfil|cannot comply|can't comply|i refuse to|i decline|i cannot rate this|"
    "i cannot evaluate|i can't evaluate|i can't grade|i can't rate|je ne peux pas juger|"
    "je ne peux pas évaluer|je ne peux pas répondre|je refuse|je ne peux pas vous aider|"
    "je ne suis pas en mesure|désolé, |désolée, |kann ich nicht bewerten|"
    "kann ich nicht beurteilen|nicht bewerten kann|als ki-|kann ich nicht helfen|"
    "ich kann das nicht|ich bin nicht in der lage|tut mir leid|no puedo evaluar|"
    "no puedo juzgar|no puedo ayudar|lo siento|no puedo calificar|non posso valutare|"
    "non posso giudicare|mi dispiace|non sono in grado|não posso avaliar|"
    "não posso julgar|sinto muito|desculpe, |não consigo avaliar|не могу оцен|"
    "не могу помочь|не могу судить|извините|к сожалению, я не|抱歉|对不起|對不起|我无法|"
    "我無法|我不能|申し訳|評価できません|判定できません|お答えできません|죄송|"
    "평가할 수 없|판단할 수 없|لا أستطيع|لا يمكنني|عذراً|عذرا|आकलन नहीं कर|"
    "मूल्यांकन नहीं कर|क्षमा करें|माफ़ कीजिए"
)

_CORRECTIONS = re.compile(
    "correction:|on reflection|second thought|no wait|wait, no|no, wait|edit:|i meant|"
    "make that|scratch that|disregard|ignore the above|that is wrong|that's wrong|"
    "i changed it|korrektur|doch eher|vielmehr|plutôt|mejor dicho|corrección|correzione|"
    "anzi|correção|aliás|исправ|точнее|更正|修正|应该是|應該是|訂正|やはり|やっぱり|정정|"
    "تصحيح|सुधार"
)

GRADE_WORDS = (
    "grade|score|rating|relevance|label|verdict|category|answer|note|bewertung|nota|"
    "puntuación|calificación|punteggio|valutazione|pontuação|оценка|балл|评分|評分|得分|"
    "分数|等级|評価|点数|スコア|점수|등급|स्कोर|ग्रेड|درجة|antwort|réponse|respuesta|"
    "risposta|答案|回答"
)
"""What a grade is called beside its number."""

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five")
_NUMBER = r"(\d+|\b(?:zero|two|three|four|five)\b|(?<=[:=as] )one\b(?!\s+of\b))"
_ENDS = (
    r"(?![\d.,]*\d)(?=[^\w\d%:,-]*$|[\"'*)\]}]*(?:[.;!(/<]|\s*(?:out of|because|since|indicates)\b)"
)
_WORD = rf"(?<![A-Za-z])(?:{GRADE_WORDS}|deserves|merits|warrants|final|boxed)(?![A-Za-z])"
_AS_A_GRADE = re.compile(
    rf"(?im){_WORD}[^\d.,;!?\n]{{0,16}}?{_NUMBER}{_ENDS})"
    rf"|\b(?:I\b[^\d.;!?\n]{{0,40}}?|it(?:'s| is) an? |therefore,? ){_NUMBER}{_ENDS}|[,:])"
    rf"|^[^\w\n]*{_NUMBER}(?![.)]\s*{OBJECT})[^\w\n]*$",
)
_AT_THE_END = re.compile(
    r"(?m)"
    r"(?:^|[.!?])[ \t]*(?:[^\s.!?:]+[ \t]+){0,5}[^\w\s.!?:]*(?<!of )(\d)(?:[.!]?[ \t]*$| would be)",
)


def refuses(text: str) -> bool:
    """Whether a text says that no judgement will be made."""
    return _REFUSALS.search(text.replace("’", "'").lower()) is not None


def corrects(text: str) -> bool:
    """Whether a text takes back what stands before it."""
    return _CORRECTIONS.search(text.replace("’", "'").lower()) is not None


def other_grade(before: str, after: str, grade: int, grades: Sequence[int]) -> int | None:
    """Another grade of the scale that prose names as the reply's own; None where it names none.

    Before the object the last one counts, since a model thinks aloud; after it every one does.
    """
    last = [_number(words) for words in _AS_A_GRADE.findall(before)][-1:]
    later = [_number(words) for words in _AS_A_GRADE.findall(after)]
    later += map(int, _AT_THE_END.findall(after))
    return next((other for other in (*last, *later) if other != grade and other in grades), None)


def _number(words: Sequence[str]) -> int:
    word = next(filter(None, words)).lower()
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else int(word[:9])


SHOWN = 80
"""Characters of a reply that a failure's detail quotes."""


SHORTEST_REFUSAL = 14
"""Characters of an object that may refuse; `{"grade": 2}` alone has no room to."""


class NoGrade(Exception):
    """Why there is no grade in a text; becomes a `Failure`."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class ReadGrade(NamedTuple):
    """A grade, its reason, and where in the text its digits begin, where that can be told."""

    grade: int
    reason: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class ReplyReader:
    """How replies are read: as an object by its `key`, as a grade alone, or by a `pattern`."""

    kind: Literal["json", "bare", "pattern"] = "json"
    key: str = "grade"
    pattern: str = ""

    def read(self, text: str, grades: Sequence[int]) -> ReadGrade:
        """The grade that a text gives; `NoGrade` where it gives none, or more than one."""
        alone = text.strip()
        if self.kind == "json" and alone in map(str, grades):  # and nothing else in the reply
            return ReadGrade(int(alone), None, text.index(alone))
        start = after_thoughts(text)
        answer = text[start:]
        if self.kind == "bare":
            grade, reason, position = _of_bare(answer)
        else:
            of_text = self._of_object if self.kind == "json" else self._of_pattern
            grade, reason, position = of_text(answer, grades)
        if grade not in grades:
            raise NoGrade(
                "out_of_scale", f"{grade:.40g} is not one of {', '.join(map(str, grades))}"
            )
        return ReadGrade(grade, reason, None if position is None else start + position)

    def example(self, grade: int | str) -> str:
        """A reply with this grade, as it is shown to people and models."""
        if self.kind == "json":
            return f'{{"{self.key}": {grade}}}'
        return self.pattern.partition("(")[0].replace("\\", "") + str(grade)

    def _of_object(self, text: str, grades: Sequence[int]) -> ReadGrade:
        objects, prose = answer_in(text)
        members = list(members_named(objects, self._names))
        if not members:
            raise_nothing(f'no JSON object with "{self.key}"', text)
        grade = _only({whole_number(value) for _, value in members})
        before, _, after = prose.rpartition(OBJECT)
        other = other_grade(before + OBJECT, after, grade, grades) if prose != OBJECT else None
        if other is not None:
            raise NoGrade("conflict", f"{grade} in the object, and {other} beside it")
        reason = members[-1][0].get("reason")
        at = [hit.start(1) for hit in self._written.finditer(text) if int(hit[1]) == grade]
        return ReadGrade(grade, reason if isinstance(reason, str) else None, at[-1] if at else None)

    @cached_property
    def _names(self) -> re.Pattern[str]:
        earlier = "(?:(?:final|revised|corrected|updated)[ _-]?)?"
        return re.compile(earlier + re.escape(self.key), re.IGNORECASE)

    @cached_property
    def _written(self) -> re.Pattern[str]:
        """The key and its number, in the quotes and brackets that may stand round both."""
        number = r"[^\w{}]{1,20}?(-?\d{1,9})"
        return re.compile(r"(?<![^\W_])" + re.escape(self.key) + number, re.IGNORECASE)

    def _of_pattern(self, text: str, grades: Sequence[int]) -> ReadGrade:
        check_prose(text)
        plain_at = [at for at, character in enumerate(text) if character not in "#`*"]
        plain = "".join(text[at] for at in plain_at)
        hits = list(self._tolerant.finditer(plain))
        if not hits:
            raise_nothing(f"nothing that {self.pattern!r} finds", text)
        for hit in hits:
            if _MORE.match(plain, hit.end(1)) or not (hit[1] or "").strip().isdecimal():
                raise_nothing("no whole number", plain[hit.start() :])
        grade, after = _only({int(hit[1]) for hit in hits}), plain[hits[-1].end() :]
        if corrects(after) or other_grade("", after, grade, grades) is not None:
            raise NoGrade("conflict", f"taken back: {shown(after)}")
        return ReadGrade(grade, None, plain_at[hits[-1].start(1)])

    @cached_property
    def _tolerant(self) -> re.Pattern[str]:
        """The pattern, in any case of letters, with any spaces, and without signs of Markdown."""
        pattern = re.sub(r"\\?[#`]|\\\*", "", re.sub(r"\\? ", r"\\s*", self.pattern))
        return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_MORE = re.compile(r"\d|[ ]?[.,/~–—-][ ]?\d|[ ]?%|\s+(?:or|to|oder|bis|ou|à|o|或|または)\s+\d")


def _only(values: set[int]) -> int:
    if len(values) > 1:
        raise NoGrade("conflict", f"{len(values)} grades: {str(sorted(values))[:SHOWN]}")
    return values.pop()


def answer_in(text: str) -> tuple[list[dict[str, Any]], str]:
    """The objects that a text holds, and its prose with `OBJECT` for each.

    `NoGrade` where one is broken, where a text in or round them refuses, and where the prose after
    them takes them back.
    """
    try:
        objects, prose = objects_in(text)
    except ValueError as error:
        raise_nothing(str(error), text)
    if prose != OBJECT:
        check_prose(prose)
    after = prose.rpartition(OBJECT)[2]
    if objects and after and corrects(after):
        raise NoGrade("conflict", f"taken back: {shown(after)}")
    whole_text = json.dumps(objects, ensure_ascii=False) if "\\" in text else text
    if len(text) > SHORTEST_REFUSAL and refuses(whole_text):
        raise NoGrade("refused", shown(text))
    return objects, prose


def check_prose(prose: str) -> None:
    """Raise where a thought begins in it that does not end, or where it refuses."""
    if has_open_thought(prose):
        raise NoGrade("unparsable", f"a thought that does not end: {shown(prose)}")
    if refuses(prose):
        raise NoGrade("refused", shown(prose))


def whole_number(value: object) -> int:
    """The whole number that a value is, or that a text says alone; `NoGrade` for any other."""
    if isinstance(value, str):
        return _of_bare(value).grade
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise NoGrade("unparsable", f"no whole number as the grade: {str(value)[:SHOWN]}")
    return int(value)


_DECORATION = re.compile(
    r"(?i)(?:[\s*_`~\"'#>{}\[\]()<|\\/.:=：。“”„«»「」【】点分점は为是]|[-–—•]\s"
    rf"|(?<![A-Za-z])(?:{GRADE_WORDS}|final|overall|my|the|is|of|boxed|result|points?|level|text"
    r"|die|der|ist|la|le|est|es|è|баллов|балла)(?![A-Za-z]))*+",
)
_ONLY_NUMBER = re.compile(r"(?<![\d.,])((?:(?<!\w)-)?\d{1,9})(?:\.0+)?(?![\d.,]*\d)")
_LABEL = re.compile(rf"(?i)(?:{GRADE_WORDS})\W*[:：]\W*$")
_OTHER_NUMBER = re.compile(r"(?i)[\d¼-¾²³¹二三四五]|\b(?:zero|two|three|four|five)\b")
LONGEST_BARE = 10_000
"""Characters; a longer text is no grade alone."""

_END_OF_TURN = re.compile(r"</s>|<end_of_turn>|<\|(?:im_end|eot_id|end|endoftext|return)\|>")


def _of_bare(text: str) -> ReadGrade:
    """The grade that a text is, with words that only say that it is one.

    An explanation may follow on another line, or behind a dash or a bracket, and a sentence may
    come before it on another line; no other number may stand in them.
    """
    check_prose(text[:LONGEST_BARE])
    plain = _END_OF_TURN.sub(lambda mark: " " * len(mark[0]), text)
    numbers = list(_ONLY_NUMBER.finditer(plain[:LONGEST_BARE]))
    if len(text) > LONGEST_BARE or len(numbers) != 1:
        raise_nothing("more or less than a grade", text)
    [number] = numbers
    before, after = plain[: number.start()], plain[number.end() :]
    label, decoration = before[before.rfind("\n") + 1 :], _DECORATION.match(after)
    gap = decoration[0] if decoration else ""
    rest = after[len(gap) :]
    is_labelled = _DECORATION.fullmatch(label) or _LABEL.search(label)
    is_apart = not rest or rest[0] in "-–—,;" or not set(":=(\n：-–—").isdisjoint(gap)
    if not is_labelled or not is_apart or corrects(rest) or _OTHER_NUMBER.search(before + rest):
        raise_nothing("more or less than a grade", text)
    return ReadGrade(int(number[1]), None, number.start(1))


def raise_nothing(problem: str, text: str) -> NoReturn:
    """Raise that a text is no grade: because it refuses, or else as the problem says."""
    if not text.strip():
        raise NoGrade("unparsable", "an empty reply")
    raise NoGrade("refused" if refuses(text) else "unparsable", f"{problem}: {shown(text)}")


def shown(text: str) -> str:
    """The beginning of a text, as a failure's detail quotes it."""
    return " ".join(text[: 20 * SHOWN].split())[:SHOWN]


FORMS = '"json", "json:KEY", "bare" or "pattern:EXPRESSION"'


def parse_reader(declaration: str) -> ReplyReader:
    r"""The reader that a text declares: `json`, `json:KEY`, `bare` or `pattern:EXPRESSION`.

    The expression catches the grade in its one group; letters are read in any case.

    >>> parse_reader(r"pattern:##final score: (\d)").read("## Final score: **2**", range(4)).grade
    2
    """
    kind, colon, rest = declaration.partition(":")
    reader = ReplyReader("json", rest.strip() or "grade")
    if kind == "pattern" and rest:
        reader = ReplyReader("pattern", pattern=rest)
        try:
            problem = (
                "it needs 1 group, which catches the grade" if reader._tolerant.groups != 1 else ""
            )
        except re.error as error:
            problem = str(error)
        if problem:
            raise Misuse(f"the pattern {rest!r:.80}: {problem}", parameter="reader")
    elif declaration == "bare":
        reader = ReplyReader("bare")
    elif kind != "json" or (colon and not rest.strip()):
        raise Misuse(f"no reader of replies {declaration!r:.80}; write {FORMS}", parameter="reader")
    return reader
