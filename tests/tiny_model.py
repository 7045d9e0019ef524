"""A GGUF file of a language model that knows nothing: a Llama of 25,000 weights, all of them 0.

llama.cpp's server loads it in a tenth of a second, and treats it as it does any other. Under a
schema it still answers what the schema asks for.
"""

import struct
from math import prod
from pathlib import Path

UNSIGNED, SIGNED, FLOAT, TEXT, LIST = 4, 5, 6, 8, 9
"""GGUF's numbers of types."""
WIDTH = 32
TOKENS = [*("<unk>", "<s>", "</s>"), *(f"<0x{n:02X}>" for n in range(256)), "\u2581"]
LETTERS = [chr(n) for n in range(33, 127)]
KINDS = [*(2, 3, 3), *[6] * 256, 1, *[1] * len(LETTERS)]
"""Unknown, control, byte and plain tokens, as llama.cpp numbers them."""
ABOUT = {
    "general.architecture": "llama",
    "llama.context_length": 4096,
    "llama.embedding_length": WIDTH,
    "llama.block_count": 1,
    "llama.feed_forward_length": WIDTH,
    "llama.attention.head_count": 1,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.dimension_count": WIDTH,
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": TOKENS + LETTERS,
    "tokenizer.ggml.scores": [0.0] * len(KINDS),
    "tokenizer.ggml.token_type": KINDS,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}
SHAPES = {
    "token_embd": (WIDTH, len(KINDS)),
    "output": (WIDTH, len(KINDS)),
    "output_norm": (WIDTH,),
    **{f"blk.0.{norm}_norm": (WIDTH,) for norm in ("attn", "ffn")},
    **{f"blk.0.attn_{part}": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")},
    **{f"blk.0.ffn_{part}": (WIDTH, WIDTH) for part in ("gate", "up", "down")},
}


def write_tiny_model(path: Path) -> Path:
    """Write it, after the description of GGUF's version 3."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(SHAPES), len(ABOUT))
    for key, value in ABOUT.items():
        kind, raw = _value(value)
        head += _text(key) + struct.pack("<I", kind) + raw
    end = 0
    for name, shape in SHAPES.items():
        head += _text(f"{name}.weight") + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, end)  # a float of 32 bits each
        end += 4 * prod(shape)
    path.write_bytes(head + bytes(-len(head) % 32 + end))
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> tuple[int, bytes]:
    """The number of a value's type, and the value; whole numbers are signed in lists alone."""
    if isinstance(value, list):
        kinds, each = zip(*map(_value, value), strict=True)
        kind = SIGNED if kinds[0] == UNSIGNED else kinds[0]
        return LIST, struct.pack("<IQ", kind, len(each)) + b"".join(each)
    if isinstance(value, str):
        return TEXT, _text(value)
    if isinstance(value, float):
        return FLOAT, struct.pack("<f", value)
    return UNSIGNED, struct.pack("<I", value)
