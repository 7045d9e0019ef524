"""Which language a text is in, as far as its script and its commonest words tell."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache

Span = tuple[int, int]
"""Where a stretch of a text begins and ends."""

_COMMON = {
    "en": "the a an of and to in is that for it with as on are this be by from or how what do does",
    "de": "der die das und ist nicht ein eine mit für auf den von zu im wie was ich kann sich",
    "fr": "le la les des et est une un pour dans que qui sur avec pas du au comment quel ce sont",
    "es": "el la los las de y es una un para en que por con no del cómo qué se su como",
    "it": "il lo la gli le di e è una un per che con non del della come cosa si sono nel",
    "pt": "o a os as de e é uma um para em que por com não do da como qual se são",
    "nl": "de het een en is niet van voor op met dat te in hoe wat zijn wordt ik bij aan",
    "sv": "och att det som en är på för med av inte den till hur vad ett om kan jag",
    "pl": "i w na z do nie się jest jak co to że dla od po czy są przez tym",
    "da": "og det at som en er på for med af ikke den til hvad hvordan et om kan jeg være bliver",
    "no": "og det at som en er på for med av ikke den til hva hvordan et om kan jeg være blir",
    "fi": "ja on ei se että joka kun mutta niin tai kuin ovat voi hän myös sen mitä miten olla",
    "hu": "a az és hogy nem is egy ez azt meg vagy ha van mint csak már mert kell lehet hogyan",
    "cs": "se na je že do to pro který aby jak ale jako nebo si by tak co jsou při být není",
    "ro": "și în de la cu pe din care nu este sau pentru sunt mai că prin să fi ce cum un o",
    "tr": "ve bir bu için ile de da çok daha olarak gibi ne olan ama var değil mi nasıl veya",
    "ca": "el la els les de és una un per a en que amb més dels seva són als aquest aquesta",
    "id": "yang dan di itu dengan untuk dari ini pada tidak akan adalah dalam ke dapat atau oleh",
    "lt": "ir kad yra į iš su tai kaip bet ar per apie jo buvo arba taip tik gali nuo",
    "et": "ja on ei et see ka kui mis või oma seda aga selle kes välja oli siis nii",
    "eu": "eta da ez bat du dira izan baina edo egin hau ere dute zen nola horrek",
    "ga": "agus an na is tá ar le ní do a bhí sé ag mar nach conas bhfuil ó",
}

NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "pl": "Polish",
    "da": "Danish",
    "no": "Norwegian",
    "fi": "Finnish",
    "hu": "Hungarian",
    "cs": "Czech",
    "ro": "Romanian",
    "tr": "Turkish",
    "ca": "Catalan",
    "id": "Indonesian",
    "lt": "Lithuanian",
    "et": "Estonian",
    "eu": "Basque",
    "ga": "Irish",
    "ru": "Russian",
    "el": "Greek",
    "ar": "Arabic",
    "he": "Hebrew",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "hi": "Hindi",
    "ta": "Tamil",
    "hy": "Armenian",
}
"""The languages that are told apart, by their codes."""

_OF_SCRIPT = {
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARABIC": "ar",
    "HEBREW": "he",
    "CJK": "zh",
    "HANGUL": "ko",
    "THAI": "th",
    "DEVANAGARI": "hi",
    "TAMIL": "ta",
    "ARMENIAN": "hy",
}
_WORD = re.compile(r"[^\W\d_]+")


def code_of(language: str) -> str:
    """The code of a language by its name or its code; empty where it is not told apart."""
    name = language.strip().casefold()
    return next((c for c, n in NAMES.items() if name in (c, n.casefold())), "")


@cache
def common_words(code: str) -> frozenset[str]:
    """Words that most texts of a language hold, by its code; none where they are not listed."""
    return frozenset(_COMMON.get(code, "").split())


def language_of(text: str) -> str:
    """The code of the language of a text; empty where that cannot be told.

    Two different common words tell it, at least: `a` twice is English as well as Portuguese.

    >>> language_of("wie kann ich das Passwort ändern"), language_of("usb hub")
    ('de', '')
    """
    scripts = Counter(_script(letter) for letter in text if letter.isalpha())
    (script, _), *_ = scripts.most_common(1) or [("LATIN", 0)]
    if script != "LATIN":
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        return "ja" if kana else _OF_SCRIPT.get(script, "")
    counts = Counter[str]()
    for word in dict.fromkeys(_WORD.findall(text.casefold())):
        counts.update(code for code in _COMMON if word in common_words(code))
    ranked = counts.most_common(2)
    clear = ranked and ranked[0][1] >= 2 and (len(ranked) < 2 or ranked[0][1] > ranked[1][1])
    return ranked[0][0] if clear else ""


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNNAMED").split()[0]


# Words and sentences of a text in any script.

LONGEST_SLICE = 200
"""A word of more characters is cut."""

_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003fffd]+"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese are written without spaces between words."""

_LONG_WORD = 20
_TOKEN = re.compile(r"\S+")
_LONG_TEXT = 1 << 16
"""A text of more characters is gone through token by token: a list of them would be many times its
size."""

_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*(\s+)(?=[^\sa-z])|(?<=[。！？])[」』”’）]*(\s*)(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Eq|Sec|Vol|pp|ca)|\b[A-Z])\.$"
)


def count_words(text: str) -> int:
    """Words as a reader would count them.

    Tokens between white space; two characters count as a word in scripts without spaces, and so do
    20 characters of an overlong token (an address, a hash, a table of numbers).
    """
    if len(text) > _LONG_TEXT:
        return sum(_words_of(match[0]) for match in _TOKEN.finditer(text))
    return sum(map(_words_of, text.split()))


def _words_of(token: str) -> int:
    if token.isascii():
        return -(-len(token) // _LONG_WORD)
    unspaced = sum(map(len, _UNSPACED.findall(token)))
    return -(-unspaced // 2) + -(-(len(token) - unspaced) // _LONG_WORD)


def first_words(text: str, most: int) -> str:
    """At most so many words, as `count_words` counts them, with a space between tokens."""
    shown = []
    for token in text.split():
        fitting = token
        while (words := _words_of(fitting)) > most:
            fitting = fitting[: len(fitting) * most // words]
        shown.append(fitting)
        most -= words
        if fitting != token or not most:
            break
    return " ".join(shown).rstrip()


def short_stretches(text: str, most: int) -> Iterator[Span]:
    """Yield where sentences begin and end, or the words of one that has more than `most`."""
    for start, end in _sentences(text):
        if count_words(text[start:end]) <= most:
            yield start, end
            continue
        for word in _TOKEN.finditer(text[start:end]):
            at = start + word.start()
            for first, last in _slices(word[0]):
                yield at + first, at + last


def _sentences(text: str) -> Iterator[Span]:
    start = len(text) - len(text.lstrip())
    for match in _SENTENCE_END.finditer(text):
        end, after = match.span(1) if match[1] is not None else match.span(2)
        if not _ABBREVIATION.search(text, max(start, end - 10), end):
            yield start, end
            start = after
    if text[start:].rstrip():
        yield start, len(text.rstrip())


def _slices(word: str) -> Iterator[Span]:
    """Cut a word that is too long, never before a character that combines with another."""
    start = 0
    while len(word) - start > LONGEST_SLICE:
        end = start + LONGEST_SLICE
        while end < len(word) and (
            word[end] == "\u200d" or unicodedata.category(word[end]) in ("Mn", "Mc", "Me")
        ):
            end += 1
        yield start, end
        start = end
    if start < len(word):
        yield start, len(word)
