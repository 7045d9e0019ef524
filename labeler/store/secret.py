"""The secret of a collection, which the marks round its documents are made with.

It is kept in the store, beside the replies: the marks are in what was asked, so a reply is found
again only with the secret of its store. It is made once, and shown nowhere.
"""

from __future__ import annotations

import secrets

from labeler.errors import BadInput
from labeler.store.base import Store

_NAME = "secret of marks"
_BYTES = 32


def kept_secret(store: Store) -> bytes:
    """The store's secret, which is made and stored where there is none."""
    return store.learn_once(_NAME, secrets.token_hex(_BYTES)).encode()


def secret_of(store: Store) -> bytes:
    """The store's secret, for who asks nothing; none where it has none yet."""
    return (store.fact(_NAME) or "").encode()


def share_secret(store: Store, secret: bytes) -> None:
    """Give a store the secret of another, so that replies to the same requests are found in both.

    `BadInput` where it has its own.
    """
    if store.learn_once(_NAME, secret.decode()).encode() != secret:
        raise BadInput("a store has another secret than the collection that its pairs are of")
