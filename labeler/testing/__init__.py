"""For tests of your own pipelines: a server that can misbehave, a fake model, a collection."""

from labeler.testing.fake_server import Answer, Call, FakeServer, completion, embeddings, fake_model
from labeler.testing.small_collection import small_collection

__all__ = [
    "Answer",
    "Call",
    "FakeServer",
    "completion",
    "embeddings",
    "fake_model",
    "small_collection",
]
