"""What a page of the report carries for its script, read as the script reads it."""

import base64
import gzip
import json
import re
import struct

import numpy as np

KINDS = {"f8": np.float64, "f4": np.float32, "i4": np.int32}


def unpacked(text):
    """What the script of a page reads."""
    content = gzip.decompress(base64.b64decode(text))
    (length,) = struct.unpack("<I", content[:4])
    start = -(-(4 + length) // 8) * 8

    def array(place):
        if "$" not in place:
            return place
        count = int(np.prod(place["shape"]))
        found = np.frombuffer(content, KINDS[place["$"]], count, start + place["at"])
        return found.reshape(place["shape"])

    return json.loads(content[4 : 4 + length], object_hook=array)


def data_of(page):
    """Everything that a page draws."""
    found = re.search(r'id="packed-data">([^<]*)<', page)
    return unpacked(found[1])
