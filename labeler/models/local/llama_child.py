"""The child process that serves one GGUF file: llama.cpp's own OpenAI-compatible server.

Run as `python -P labeler/models/local/llama_child.py FILE THREADS SLOTS CONTEXT`, so it imports
nothing of this package. The first line of stdin is the key that it shall ask for, the one line on
stdout its address, or why llama.cpp cannot be imported. It ends when its stdin does, so it ends
with the process that started it.
"""

from __future__ import annotations

import os
import sys


def serve(path: str, threads: int, slots: int, context: int) -> None:
    """Serve until stdin ends."""
    try:
        import xllamacpp
    except ImportError as error:  # as where the system lacks a library that it is linked with
        sys.stdout.write(f"{error}\n")
        return
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.model_alias = {os.path.basename(path)}
    parameters.n_ctx = context * slots
    parameters.n_parallel = slots
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.cpuparams.poll = 0
    parameters.cpuparams_batch.poll = 0
    parameters.port = 0
    parameters.api_keys = [sys.stdin.readline().strip()]
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # nothing is to be saved, and an orderly end would take seconds


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:5]))
