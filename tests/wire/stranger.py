"""Somebody whom nobody named: a port that counts who connects, and answers nothing."""

import socket
from typing import Self


class Stranger:
    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._socket.setblocking(False)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def connections(self) -> int:
        """How many have connected since this was asked last."""
        count = 0
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1
