"""The store: it remembers replies, so that none is asked for twice.

It keeps what a server sent, not what was made of it: a grade is a pure function of a reply.
"""

from labeler.store.base import Waiting
from labeler.store.replies import Store, StorePlace, open_store

__all__ = ["Store", "StorePlace", "Waiting", "open_store"]
