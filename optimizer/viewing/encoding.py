"""Values with charts in them as JSON."""

import json

import numpy as np
import numpy.typing as npt

from optimizer.printable import clean_text
from optimizer.report.page import to_plain


def encode_json(value: object) -> bytes:
    """One line of JSON; numbers that are not finite are null, no sign turns the direction."""
    plain = to_plain(value, _list_numbers)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return clean_text(text, kept="").encode()


def _list_numbers(array: npt.NDArray[np.generic]) -> object:
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array.astype(np.float64)), array, None)  # type: ignore[call-overload]
    return array.tolist()
