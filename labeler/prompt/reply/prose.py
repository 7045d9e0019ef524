"""What stands round a grade in a reply: whether it refuses, corrects, or names another grade. Pure.

No grade is taken from these words. Prose is decoration, in any language, unless it says in words
that are listed here that the grade beside it does not hold; a reply that says so has no grade.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from labeler.text.objects import OBJECT

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
    rf"{_WORD}[^\d.,;!?\n]{{0,16}}?{_NUMBER}{_ENDS})"
    rf"|\b(?:I\b[^\d.;!?\n]{{0,40}}?|it(?:'s| is) an? |therefore,? ){_NUMBER}{_ENDS}|[,:])"
    rf"|^[^\w\n]*{_NUMBER}(?![.)]\s*{OBJECT})[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_AT_THE_END = re.compile(
    r"(?:^|[.!?])[ \t]*(?:[^\s.!?:]+[ \t]+){0,5}[^\w\s.!?:]*(?<!of )(\d)(?:[.!]?[ \t]*$| would be)",
    re.MULTILINE,
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


def _number(words: tuple[str, ...]) -> int:
    word = next(filter(None, words)).lower()
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else int(word[:9])
