"""LZ4 blocks, as fatbins compressed for speed hold them. Source: the LZ4 block format description."""

from __future__ import annotations


def decompress(data: bytes, size: int) -> bytes:
    """The `size` bytes that a block stands for. ValueError where the block is broken or makes more or fewer.

    Each sequence is a token (literal count, match length), literals, a 16-bit distance back, and lengths of 15 or more
    go on in bytes of 255. The last sequence has literals only.
    """
    out = bytearray()
    at = 0
    try:
        while True:
            token = data[at]
            at += 1
            literals, at = _length(data, at, token >> 4)
            if at + literals > len(data) or len(out) + literals > size:
                raise ValueError("literals run past the end")
            out += data[at : at + literals]
            at += literals
            if at == len(data) or len(out) == size:
                break
            distance = data[at] | data[at + 1] << 8
            match, at = _length(data, at + 2, token & 15)
            match += 4
            if not 0 < distance <= len(out) or len(out) + match > size:
                raise ValueError("a match lies outside the text")
            start = len(out) - distance
            if distance >= match:
                out += out[start : start + match]
            else:  # the match overlaps what it makes: the last `distance` bytes repeat
                out += (bytes(out[start:]) * (match // distance + 1))[:match]
    except IndexError:
        raise ValueError("the block ends early") from None
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes instead of {size}")
    return bytes(out)


def _length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            more = data[at]
            at += 1
            length += more
            if more != 255:
                break
    return length, at
