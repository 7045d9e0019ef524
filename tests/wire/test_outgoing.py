"""The watch over connections sees what goes around the gate, and nothing else."""

import asyncio
import socket
import types

import pytest
from outgoing import AROUND, WentAroundTheGate

from labeler.models.server.client import models_of, place_of
from labeler.testing import FakeServer

BYPASS = """
def connect(address):
    with socket.socket() as bare:
        bare.connect(address)
"""


def test_a_connection_of_the_package_that_nobody_admitted_is_refused_and_remembered() -> None:
    module = types.ModuleType("labeler.somewhere")
    module.__dict__["socket"] = socket
    exec(BYPASS, module.__dict__)
    with FakeServer() as server:
        port = int(server.base_url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(WentAroundTheGate, match=r"labeler\.somewhere"):
            module.connect(("127.0.0.1", port))
        assert len(AROUND) == 1
        AROUND.clear()
        socket.create_connection(("127.0.0.1", port)).close()  # a test's own
        assert asyncio.run(models_of(place_of(server.base_url, None))) == ["fake"]
        assert AROUND == []
