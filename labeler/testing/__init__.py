"""For tests of your own pipelines: a server that can be told to misbehave, and a fake model."""

from labeler.testing.fake_model import fake_model
from labeler.testing.fake_server import Answer, Call, FakeServer, completion

__all__ = ["Answer", "Call", "FakeServer", "completion", "fake_model"]
