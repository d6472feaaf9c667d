"""Values with charts in them as JSON."""

import json

from optimizer.printable import clean_values
from optimizer.report.page import to_plain


def encode_json(value: object) -> bytes:
    """One line of JSON; numbers that are not finite are null, no text commands anything."""
    plain = to_plain(value, lambda array: to_plain(array.tolist(), lambda _: None))
    return json.dumps(clean_values(plain), allow_nan=False, separators=(",", ":")).encode()
