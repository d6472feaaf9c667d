"""What a page of the report carries for its script, read as the script reads it."""

import base64
import gzip
import json
import re
import struct

import numpy as np

KINDS = {"f8": np.float64, "f4": np.float32, "i4": np.int32}


def unpack_page(text):
    """What the script of a page reads."""
    content = gzip.decompress(base64.b64decode(text))
    (length,) = struct.unpack("<I", content[:4])
    start = -(-(4 + length) // 8) * 8

    def array(node):
        if "$" not in node:
            return node
        count = int(np.prod(node["shape"]))
        values = np.frombuffer(content, KINDS[node["$"]], count, start + node["at"])
        return values.reshape(node["shape"])

    return json.loads(content[4 : 4 + length], object_hook=array)


def read_data(page):
    """Everything that a page draws."""
    match = re.search(r'id="packed-data">([^<]*)<', page)
    return unpack_page(match[1])
