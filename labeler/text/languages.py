"""Which language a text is in, as far as its script and its commonest words tell."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

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
}
_WORDS_OF = {code: frozenset(text.split()) for code, text in _COMMON.items()}

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
    "ru": "Russian",
    "el": "Greek",
    "ar": "Arabic",
    "he": "Hebrew",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "hi": "Hindi",
}
"""The languages that are told apart, by their codes."""

_OF_SCRIPT = {
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARABIC": "ar",
    "HEBREW": "he",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "THAI": "th",
    "DEVANAGARI": "hi",
}
_WORD = re.compile(r"[^\W\d_]+")


def code_of(language: str) -> str:
    """The code of a language by its name or its code; empty where it is not told apart."""
    name = language.strip().casefold()
    return next((c for c, n in NAMES.items() if name in (c, n.casefold())), "")


def common_words(code: str) -> frozenset[str]:
    """Words that most texts of a language hold, by its code; none where they are not listed."""
    return _WORDS_OF.get(code, frozenset())


def language_of(text: str) -> str:
    """The code of the language of a text; empty where that cannot be told.

    Two different common words tell it, at least: `a` twice is English as well as Portuguese.

    >>> language_of("wie kann ich das Passwort ändern"), language_of("usb hub")
    ('de', '')
    """
    letters = [letter for letter in text if letter.isalpha()]
    scripts = Counter(_script(letter) for letter in letters)
    if scripts and scripts.most_common(1)[0][0] != "LATIN":
        return _of_script(scripts)
    counts = Counter[str]()
    for word in dict.fromkeys(_WORD.findall(text.casefold())):
        counts.update(code for code, common in _WORDS_OF.items() if word in common)
    ranked = counts.most_common(2)
    clear = ranked and ranked[0][1] >= 2 and (len(ranked) < 2 or ranked[0][1] > ranked[1][1])
    return ranked[0][0] if clear else ""


def _of_script(scripts: Counter[str]) -> str:
    if scripts["HIRAGANA"] or scripts["KATAKANA"]:
        return "ja"
    return _OF_SCRIPT.get(scripts.most_common(1)[0][0], "")


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNNAMED").split()[0]
