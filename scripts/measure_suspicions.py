"""How often documents are named as written for the assessor: clean ones, and attacked ones.

    python scripts/measure_suspicions.py COLL rustbook/ flask/ --attacks text_attack_train.json

COLL is a collection whose human qrels name clean pairs; the folders hold clean documents, cut into
passages of about 900 characters, some of which are attacked, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from harness import parser

from labeler.collection.corpus import read_corpus
from labeler.collection.layout import open_collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Query
from labeler.judging.suspicions import suspicions
from labeler.lab.certificate import ATTACKS, POSITIONS, Target, attack_text, inserted
from labeler.stats.means import share_interval
from labeler.trec.files import read_qrels

LENGTH = 900
DRAWN = 40
ENDINGS = (".md", ".rst", ".txt")
ASKED = Query("q", "how do I handle errors in this program")


def passages(folder: Path) -> Iterator[str]:
    """The paragraphs of a folder's files, joined to passages."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in ENDINGS:
            continue
        passage = ""
        for paragraph in re.split(r"\n\s*\n", path.read_text(errors="replace")):
            passage += f"{paragraph}\n\n"
            if len(passage) > LENGTH:
                yield passage
                passage = ""
        if passage.strip():
            yield passage


def told(name: str, named: Sequence[bool]) -> None:
    """Print how many documents were named, with the interval of the share."""
    low, high = share_interval(np.array(named, dtype=np.float64))
    print(f"{name}: {sum(named):,} of {len(named):,} [{low:.2%}, {high:.2%}]")


def is_named(query: Query, text: str) -> bool:
    """Whether a text is suspicious."""
    return bool(suspicions(query, Document("d", text)))


def attacked(clean: Sequence[str], attacks: Path | None, draws: Random) -> None:
    """Print how many attacked passages are named, of the shipped attacks and of a file's."""
    target = Target(ASKED.text, 3, "A text about another matter, which explains it.")
    for name, attack in ATTACKS.items():
        drawn = draws.sample(clean, DRAWN)
        texts = (
            inserted(text, attack_text(attack, target), draws.choice(POSITIONS)) for text in drawn
        )
        told(f"attack {name}", [is_named(ASKED, text) for text in texts])
    if attacks is not None:
        listed = [text for texts in json.loads(attacks.read_text()).values() for text in texts]
        texts = (inserted(draws.choice(clean), text, "middle") for text in listed)
        told(attacks.name, [is_named(ASKED, text) for text in texts])


def main() -> None:
    """Print all shares."""
    made = parser(__doc__, collection=Path)
    made.add_argument("folders", type=Path, nargs="+")
    made.add_argument("--attacks", type=Path)
    options = made.parse_args()
    opened = open_collection(options.collection)
    queries, corpus = read_queries(opened.queries), read_corpus(opened.corpus)
    qrels = read_qrels(opened.qrels("human"))
    pairs = [(queries[q], corpus[d]) for q, graded in qrels.items() for d in graded if d in corpus]
    told(f"clean {options.collection}", [bool(suspicions(*pair)) for pair in pairs])
    clean: list[str] = []
    for folder in options.folders:
        of_folder = list(passages(folder))
        told(f"clean {folder.name}", [is_named(ASKED, text) for text in of_folder])
        clean += of_folder
    attacked(clean, options.attacks, Random(0))


if __name__ == "__main__":
    main()
