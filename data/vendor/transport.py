"""One call to the vendor: limits on bytes and time, no redirects, and what may be tried again.

The vendor's client hands its calls to a pool of connections. This pool takes the place of that
one: the client builds the request, and how an answer is read is decided here.
"""

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import urllib3
from urllib3.exceptions import HTTPError

from data.vendor.calls import CallError, parse_retry_delay

CONNECT_S, READ_S, CALL_S = 10.0, 30.0, 120.0
"""Seconds to connect, between two pieces of an answer, and for one call from end to end."""

LARGEST_PAGE_BYTES = 32_000_000
"""A page of 50,000 bars has 6 MB; anything of this size is something else."""

PIECE_BYTES = 65_536
SHOWN_BYTES = 2_000
"""Bytes of the body of an error that are looked at."""

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same call may be made again."""


@dataclass(frozen=True)
class VendorAnswer:
    """A whole answer of status 200, unpacked, as the client wants it."""

    data: bytes
    status: int = 200


class BoundedPool:
    """Stands where the vendor's client keeps its pool of connections."""

    def __init__(self, pool: urllib3.PoolManager) -> None:
        self._pool = pool

    def request(
        self,
        method: str,
        url: str,
        fields: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> VendorAnswer:
        """Make one call, once.

        Raises:
            CallError: When no whole answer of status 200 came; its words show no header.
        """
        deadline = time.monotonic() + CALL_S
        try:
            response = self._pool.request(
                method,
                url,
                fields={name: str(value) for name, value in (fields or {}).items()},
                headers=headers,
                preload_content=False,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
            )
            try:
                return _answer(response, deadline)
            finally:
                response.close()
        except (HTTPError, OSError) as error:
            # Messages of the library show the address; its class is enough.
            what = type(error).__name__
            raise CallError(f"the connection failed ({what})", can_repeat=True) from None


def _answer(response: urllib3.BaseHTTPResponse, deadline: float) -> VendorAnswer:
    if response.status == 200:
        return VendorAnswer(_read_body(response, deadline))
    raise CallError(
        f"status {response.status}",
        status=response.status,
        can_repeat=response.status in AGAIN,
        retry_after_s=parse_retry_delay(response.headers.get("Retry-After")),
        body=_read_start(response, deadline),
    )


def _read_start(response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """The first bytes of an error's body; the status counts even where the body does not come."""
    try:
        return _read_body(response, deadline, SHOWN_BYTES)
    except (HTTPError, OSError, CallError):
        return b""


def _read_body(
    response: urllib3.BaseHTTPResponse, deadline: float, most: int = LARGEST_PAGE_BYTES
) -> bytes:
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise CallError(f"the answer is packed as {coding[:20]!r}")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if coding == "gzip" else None
    body = bytearray()
    while piece := response.read1(PIECE_BYTES, decode_content=False):
        body += piece if unpack is None else _decompress_piece(unpack, piece, most - len(body) + 1)
        if len(body) > most:
            raise CallError(f"the answer has more than {most:,} bytes")
        if time.monotonic() > deadline:
            raise CallError(f"the answer took more than {CALL_S:g} s", can_repeat=True)
    if unpack is not None and not unpack.eof:
        raise CallError("the answer was cut off", can_repeat=True)
    stated = response.headers.get("Content-Length", "")
    if unpack is None and stated.isdigit() and int(stated) != len(body):
        raise CallError("the answer was cut off", can_repeat=True)
    return bytes(body)


def _decompress_piece(unpack: "zlib._Decompress", piece: bytes, most: int) -> bytes:
    try:
        return unpack.decompress(piece, max(most, 1))
    except zlib.error:
        raise CallError("the answer cannot be unpacked") from None
