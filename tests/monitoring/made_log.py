"""A corpus of cooking, an evaluation of it, and logs in which people may turn to something else."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import numpy as np

from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.data import Document, Query
from labeler.monitoring.queries import Search

FOODS = ("bread", "soup", "rice", "pasta", "salad", "cake", "fish", "beans", "eggs", "potato")
TASKS = ("how to bake", "boil", "recipe for", "spices for", "freezing", "what goes with", "quick")
COOKING = [f"{task} {food}" for food, task in product(FOODS, TASKS)]
LOCKS = [
    f"{what} {how}"
    for what, how in product(
        ("passkey", "bluetooth keypad", "fingerprint reader", "two factor login"),
        ("reset", "not working", "firmware", "pairing", "battery"),
    )
]
MONDAY = date(2024, 1, 1)


def made_collection(folder: Path) -> Collection:
    """Recipes, and 40 queries of which all have a relevant document."""
    collection = Collection(folder)
    collection.folder.mkdir()
    documents = [
        Document(f"d{n}", f"Here is {text}: {text} in an oven or a pan, with salt and oil.", text)
        for n, text in enumerate(COOKING)
    ]
    chosen = np.random.default_rng(3).choice(len(COOKING), 40, replace=False).tolist()
    with locked(collection):
        write_corpus(collection.corpus, documents)
        write_queries(collection.queries, [Query(f"q{n}", COOKING[n]) for n in chosen])
    collection.qrels("human").parent.mkdir()
    rows = "".join(f"q{n} 0 d{n} 1\n" for n in chosen)
    collection.qrels("human").write_text(rows)
    return collection


def made_log(
    weeks: int, sessions: int, share: float = 0.0, start: int = 4, seed: int = 0
) -> Iterator[Search]:
    """Sessions of a query or a few; from week `start` on that share of them is about locks."""
    rng = np.random.default_rng(seed)
    chances = {len(texts): 1 / np.arange(1, len(texts) + 1) for texts in (COOKING, LOCKS)}
    for week, number in product(range(weeks), range(sessions)):
        day = MONDAY + timedelta(days=7 * week + int(rng.integers(7)))
        texts = LOCKS if week >= start and rng.random() < share else COOKING
        chance = chances[len(texts)] / chances[len(texts)].sum()
        for place in rng.choice(len(texts), 1 + rng.poisson(0.7), p=chance):
            yield Search(day, texts[place], f"{week}/{number}")
