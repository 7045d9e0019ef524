"""Under which key a reply is kept, and the checksums of what is kept."""

from __future__ import annotations

import hashlib
import json
from json.encoder import encode_basestring

from labeler.model import Message, Request

_TAG = "labeler reply 1"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=dict
)


class Canon:
    """Writes requests as canonical text: all that an answer depends on, tagged, keys sorted.

    Parts that many requests share are written once, as long as it is the very same object.
    """

    def __init__(self, model_id: str) -> None:
        self._model = _ENCODER.encode(model_id)
        self._shared: dict[int, tuple[object, str]] = {}
        self._turns: list[tuple[Message | None, str]] = []

    def text(self, request: Request) -> str:
        """The request as one line of JSON, so that no two requests share a text."""
        inputs = _ENCODER.encode(request.inputs) if request.inputs else "{}"
        return (
            f'{{"attempt":{request.attempt:d},"inputs":{inputs}'
            f',"messages":[{self._messages(request)}],"model":{self._model}'
            f',"parameters":{self._once(request.parameters)},"repeat":{request.repeat:d}'
            f',"schema":{self._once(request.schema)},"tag":"{_TAG}"}}'
        )

    def _messages(self, request: Request) -> str:
        """The turns; one that is the request's before, in its place, is not written again."""
        turns = self._turns
        turns += [(None, "")] * (len(request.messages) - len(turns))
        for at, turn in enumerate(request.messages):
            if turns[at][0] is not turn:
                quoted = f"[{encode_basestring(turn.role)},{encode_basestring(turn.content)}]"
                turns[at] = (turn, quoted)
        return ",".join([text for _, text in turns[: len(request.messages)]])

    def _once(self, part: object) -> str:
        entry = self._shared.get(id(part))
        if entry is None or entry[0] is not part:
            if len(self._shared) > _SHARED_PARTS:
                self._shared.clear()
            entry = self._shared[id(part)] = (part, _ENCODER.encode(part))
        return entry[1]


_SHARED_PARTS = 64


def canonical(model_id: str, request: Request) -> str:
    """What `Canon` writes of one request."""
    return Canon(model_id).text(request)


def quoted(text: str) -> str:
    """How a text stands inside the messages of a canonical text."""
    return encode_basestring(text)[1:-1]


def key_of(model_id: str, request: Request) -> bytes:
    """The 32 bytes under which a reply is kept: a hash of all that the answer depends on."""
    return key_of_text(canonical(model_id, request))


def key_of_text(text: str) -> bytes:
    """The key of what `canonical` gave."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _spelled(field: object) -> str:
    return "None" if field is None else field.hex() if type(field) is bytes else str(field)


def checksum(*fields: object) -> bytes:
    """16 bytes over values in their order; the lengths keep one from running into the next."""
    texts = [field if type(field) is str else _spelled(field) for field in fields]
    texts.append(",".join(map(str, map(len, texts))))
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()
