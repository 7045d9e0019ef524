"""The words by which a reply refuses where its server marks no refusal. Pure.

No grade is taken from these words and none depends on them alone, but for one case: a server that
binds a model to a schema leaves it no place to refuse but the reason, beside a grade that it has to
give. The list is English; a refusal in another language is prose, which makes a reply unparsable.
"""

from __future__ import annotations

_PHRASES = (
    *("as an ai ", "i apologize", "i apologise", "i'm sorry, ", "i am sorry, ", "sorry, i "),
    *("i'm unable to ", "i am unable to ", "we are unable to ", "i'm not able to "),
    *("i am not able to ", "i cannot assist", "i can't assist", "i cannot help with"),
    *("i can't help with", "i cannot grade this content", "i cannot judge this", "i won't provide"),
    *("i must decline", "i'm not comfortable", "i am not comfortable", "cannot be graded"),
    *("cannot be judged", "not possible to grade", "not possible to judge"),
)


def refuses(text: str) -> bool:
    """Whether a text says, in English, that no judgement will be made."""
    plain = text.replace("’", "'").lower()
    return any(phrase in plain for phrase in _PHRASES)
