"""Files that the kernel hands out compressed."""

from __future__ import annotations

import zlib

_MAGIC = b"\x1f\x8b"
_GZIP = 31  # zlib's number for its largest window in a gzip file
_MOST_BYTES = 4 << 20  # ten times the largest configuration of a kernel


def gunzip(content: bytes) -> bytes:
    """The content of a gzip file; what is none comes back as it is. Raises ValueError where it is damaged or huge."""
    if not content.startswith(_MAGIC):
        return content
    unpacking = zlib.decompressobj(wbits=_GZIP)
    try:
        unpacked = unpacking.decompress(content, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError("incomplete or huge")
    return unpacked
