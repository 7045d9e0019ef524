"""The store: one SQLite file that remembers replies, so that none is asked for twice.

It keeps what a server sent, not what was made of it: labels are a pure function of it.
"""

from labeler.store.keys import key_of
from labeler.store.remember import remembered
from labeler.store.sqlite.replies import Store, open_store

__all__ = ["Store", "key_of", "open_store", "remembered"]
