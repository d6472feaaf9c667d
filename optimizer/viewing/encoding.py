"""Values with charts in them as JSON."""

import json

import numpy as np
import numpy.typing as npt

from optimizer.printable import clean_values
from optimizer.report.page import to_plain


def encode_json(value: object) -> bytes:
    """One line of JSON; numbers that are not finite are null, no text commands anything."""
    plain = clean_values(to_plain(value, _list_numbers))
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()


def _list_numbers(array: npt.NDArray[np.generic]) -> object:
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array.astype(np.float64)), array, None)  # type: ignore[call-overload]
    return array.tolist()
