"""Under which key a reply is kept, and the checksums of what is kept."""

from __future__ import annotations

import hashlib
import json

from labeler.data import Request

_TAG = "labeler reply 1"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=dict
)


def canonical(model_id: str, request: Request) -> str:
    """All that an answer depends on, tagged, keys sorted, so that no two requests share a text."""
    everything = {
        "tag": _TAG,
        "model": model_id,
        "messages": request.messages,
        "parameters": request.parameters,
        "schema": request.schema,
        "inputs": request.inputs,
        "repeat": request.repeat,
        "attempt": request.attempt,
    }
    return _ENCODER.encode(everything)


def key_of(model_id: str, request: Request) -> bytes:
    """The 32 bytes under which a reply is kept: a hash of all that the answer depends on."""
    return key_of_text(canonical(model_id, request))


def key_of_text(text: str) -> bytes:
    """The key of what `canonical` gave."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def checksum(*fields: object) -> bytes:
    """16 bytes over values in their order; the lengths keep one from running into the next."""
    texts = [field.hex() if isinstance(field, bytes) else str(field) for field in fields]
    whole = "\0".join((*texts, ",".join([str(len(text)) for text in texts])))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()
