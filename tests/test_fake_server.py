"""The server for tests of people's own pipelines."""

import gc
import http.client
import socket
import warnings

import pytest

from labeler.testing import Answer, FakeServer

ASKED = b"GET /v1/models HTTP/1.1\r\n\r\n"
ANSWERS = {
    "at once": Answer(b"{}"),
    "never": Answer(fault="hang"),
    "with more than anybody reads": Answer(b" " * 20_000_000),
}


def connected(server: FakeServer) -> socket.socket:
    address = server.base_url.split("/")[2].split(":")
    return socket.create_connection((address[0], int(address[1])))


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("sent", [b"", ASKED], ids=["connected", "asked"])
def test_a_server_that_ends_leaves_no_socket_open(answer: Answer, sent: bytes) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(5):
            clients = []
            with FakeServer() as server:
                server.listing = answer
                for _ in range(20):  # some are accepted as the server ends
                    clients.append(connected(server))
                    clients[-1].sendall(sent)
            for client in clients:
                client.close()
        gc.collect()
    assert [str(warning.message) for warning in told] == []


def test_a_server_that_ends_lets_its_clients_know() -> None:
    with FakeServer() as server:
        client = http.client.HTTPConnection(server.base_url.split("/")[2], timeout=10)
        client.request("GET", "/v1/models")
        assert client.getresponse().read()
    assert client.sock.recv(1) == b""
    client.close()
