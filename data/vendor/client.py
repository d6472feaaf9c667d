"""The vendor's own client behind one face, with words that hold no key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from data.errors import FetchError, SourceError
from data.vendor.account import VendorAccount, check_url
from data.vendor.calls import CallError, Pace
from data.vendor.transport import BoundedPool

CLIENTS = ("massive", "polygon")
"""Names under which the vendor's client is installed, the maintained one first."""

SHOWN_CHARACTERS = 160
REFUSED = {
    401: "the vendor does not know this key",
    403: "the vendor's plan does not cover this",
    404: "the vendor does not know this",
}


@dataclass(frozen=True)
class Query:
    """One range of bars, as the vendor is asked for it."""

    symbol: str
    multiplier: int  # length of a bar in `timespan`
    timespan: str  # ``second``, ``minute``, ``hour`` or ``day``
    start_ms: int  # first time, milliseconds UTC
    end_ms: int  # last time, included
    adjusted: bool


class VendorClient:
    """Asks for pages at the pace of an account."""

    def __init__(self, account: VendorAccount, pace: Pace) -> None:
        self._account, self._pace = account, pace
        self._rest = _load_client(account)
        check_url(self._rest.BASE)

    def page(self, query: Query, extra: Mapping[str, str]) -> bytes:
        """The body of one page, asked for again after failures that may pass.

        `extra` are more parameters, such as a limit.

        Raises:
            FetchError: When the vendor refuses, or still fails after all tries.
        """
        place = (query.symbol, query.multiplier, query.timespan, query.start_ms, query.end_ms)
        try:
            body: bytes = self._pace.call(
                lambda: self._rest.list_aggs(*place, params=dict(extra), raw=True).data
            )
        except CallError as error:
            words = REFUSED.get(error.status, "the vendor gives no bars")
            own_words = self._account.redact(_message(error.body))[:SHOWN_CHARACTERS]
            says = f", it says {own_words!r}" if own_words else ""
            raise FetchError(
                f"polygon:{query.symbol}: {words} ({error}{says}){error.wait}"
            ) from None
        return body


def _load_client(account: VendorAccount) -> Any:  # noqa: ANN401 - the client ships no types
    name = next((name for name in CLIENTS if find_spec(name)), None)
    if name is None:
        raise SourceError("polygon needs the vendor's client: pip install polygon-api-client")
    make = import_module(name).RESTClient
    options = {} if account.url is None else {"base": account.url}
    rest = make(api_key=account.key, retries=0, pagination=False, **options)
    rest.client = BoundedPool(rest.client)
    return rest


def _message(body: bytes) -> str:
    """The vendor's own words about an error; nothing where there are none."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    words = [fields.get(name) for name in ("error", "message")] if isinstance(fields, dict) else []
    text = next((word for word in words if isinstance(word, str)), "")
    return "".join(c if c.isprintable() else " " for c in text)
