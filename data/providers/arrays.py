"""Columns of Arrow as arrays of NumPy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def array_of(column: pa.Array, missing: float) -> npt.NDArray[Any]:
    """The numbers of a column.

    Args:
        column: [N] int64 or float64.
        missing: What stands where a number is missing.

    Returns:
        [N], read-only, of the column's type.
    """
    if column.null_count:
        filled: npt.NDArray[Any] = pc.fill_null(column, missing).to_numpy(zero_copy_only=False)
        return filled
    # pyarrow's own way imports pandas, which takes longer than to read most files.
    return np.from_dlpack(column)
