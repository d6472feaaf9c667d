"""Data inside a page: text that no name can break out of, small enough to carry.

What is packed is JSON followed by the bytes of its arrays, compressed, as base64. Base64 knows no
`<`, so that whatever a symbol or a strategy is called, it cannot end the element that holds it.
"""

import base64
import gzip
import json
import math
import struct
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]

DTYPES = {"f": "<f8", "i": "<i4", "u": "<i4", "b": "<i4"}
"""Kind of an array to the form in which it travels."""

ALIGNMENT = 8
"""Arrays begin at multiples of this, as a browser's typed arrays must."""

LEVEL = 6
"""Of compression: 9 takes five times as long and saves one hundredth."""


def pack(value: object) -> str:
    """Pack JSON-like data with NumPy arrays in it.

    Args:
        value: Mappings, sequences, texts, numbers, None and arrays of numbers of at most two
            dimensions. Single numbers that are not finite become null; arrays keep NaN.

    Returns:
        Base64 of gzip of: the length of the JSON (4 bytes, little-endian) and the JSON, padded to a
        multiple of 8 bytes, then all arrays, each padded likewise.
    """
    arrays = _Arrays()
    plain = _plain(value, arrays)
    text = json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
    return compressed(_padded(struct.pack("<I", len(text)) + text) + b"".join(arrays.parts))


def compressed(content: bytes) -> str:
    """Base64 of gzip, the same for the same content whenever it is made."""
    return base64.b64encode(gzip.compress(content, LEVEL, mtime=0)).decode("ascii")


def plotly_script() -> bytes:
    """The script that draws charts, as the plotting library brings it."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_bytes()


class _Arrays:
    """Arrays one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, array: Array) -> Mapping[str, object]:
        """Append an array; what stands for it in the JSON."""
        dtype = "<f4" if array.dtype == np.float32 else DTYPES[array.dtype.kind]
        content = _padded(np.ascontiguousarray(array).astype(dtype).tobytes())
        place = {"$": dtype[1:], "at": self.size, "shape": list(array.shape)}
        self.parts.append(content)
        self.size += len(content)
        return place


def _plain(value: object, arrays: _Arrays) -> object:
    """The value as JSON, its arrays moved to `arrays` and referred to by where they begin."""
    if isinstance(value, np.ndarray):
        return arrays.add(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, arrays) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _padded(content: bytes) -> bytes:
    """Content with blanks up to a multiple of `ALIGNMENT`; JSON and arrays do not mind them."""
    return content + b" " * (-len(content) % ALIGNMENT)
