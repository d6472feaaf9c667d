"""The vendor's own client behind one face, with pace, retries and words that hold no key."""

import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from data.errors import FetchError, SourceError
from data.vendor.account import VendorAccount, check_url
from data.vendor.transport import BoundedPool, CallError, VendorAnswer

CLIENTS = ("massive", "polygon")
"""Names under which the vendor's client is installed, the maintained one first."""

TRIES = 8
LONGEST_ASKED_S = 300.0
"""A vendor that asks to wait longer is taken at its word: the fetch ends."""

LONGEST_PAGE_S = 900.0
"""Seconds for one page with all its tries and waits."""

FIRST_GUESS_S = 1.0
"""Seconds for a page, before one was seen."""

SHOWN_CHARACTERS = 160
REFUSED = {
    401: "the vendor does not know this key",
    403: "the vendor's plan does not cover this",
    404: "the vendor does not know this",
}

MINUTE_S = 60.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Waits after failures double from the first to the longest."""

SHOWN_S = 1.0
"""Shorter waits are not worth a line."""

Tell = Callable[[str], None]


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
    """Asks for pages.

    Args:
        tell: Takes one line for each wait.
    """

    def __init__(self, account: VendorAccount, tell: Tell) -> None:
        self._account = account
        self._pace = Pace(account.calls_per_minute, tell)
        self._rest = _load_client(account)
        self.url = check_url(self._rest.BASE)
        self._answers, self._answers_s = 0, 0.0

    def estimate_seconds(self, pages: int) -> float:
        """Seconds that pages will take, if each takes as long as those before."""
        each_s = self._answers_s / self._answers if self._answers else FIRST_GUESS_S
        return self._pace.estimate_seconds(pages, each_s)

    def page(self, query: Query, extra: Mapping[str, str]) -> bytes:
        """The body of one page, asked for again after failures that may pass.

        `extra` are more parameters, such as a cursor.

        Raises:
            FetchError: When the vendor refuses, or still fails after all tries.
        """
        began = time.monotonic()
        for failures in range(1, TRIES + 1):
            self._pace.take()
            asked_s = time.monotonic()
            try:
                body = self._ask(query, extra)
                self._answers += 1
                self._answers_s += time.monotonic() - asked_s
                return body
            except CallError as error:
                failed = error
            wait_s = backoff_s(failures) if failed.retry_after_s is None else failed.retry_after_s
            left_s = LONGEST_PAGE_S - (time.monotonic() - began)
            if not failed.can_repeat or failures == TRIES or wait_s > min(LONGEST_ASKED_S, left_s):
                break
            self._pace.pause(wait_s, f"{failed}, try {failures} of {TRIES}")
        raise FetchError(self._explain(query, failed, failures))

    def _ask(self, query: Query, extra: Mapping[str, str]) -> bytes:
        answer: VendorAnswer = self._rest.list_aggs(
            query.symbol,
            query.multiplier,
            query.timespan,
            query.start_ms,
            query.end_ms,
            params=dict(extra),
            raw=True,
        )
        return answer.data

    def _explain(self, query: Query, error: CallError, tries: int) -> str:
        words = REFUSED.get(error.status, "the vendor gives no bars")
        vendor_words = self._account.redact(_message(error.body))
        vendor_words = f", it says {vendor_words[:SHOWN_CHARACTERS]!r}" if vendor_words else ""
        after = f" after {tries} tries" if tries > 1 else ""
        delay_s = error.retry_after_s
        wait = f"; it asks to wait {delay_s:.0f} s" if delay_s is not None else ""
        return f"polygon:{query.symbol}: {words} ({error}{after}{vendor_words}){wait}"


class Pace:
    """Pace of calls that a plan allows within any 60 seconds; longer waits are shown."""

    def __init__(self, calls_per_minute: int, tell: Tell) -> None:
        self._made: deque[float] = deque(maxlen=calls_per_minute)
        self._calls_per_minute = calls_per_minute
        self._tell = tell

    def take(self) -> None:
        """Wait until one more call is allowed, and count it."""
        if len(self._made) == self._calls_per_minute:
            wait_s = self._made[0] + MINUTE_S - time.monotonic()
            self.pause(wait_s, f"the plan allows {self._calls_per_minute} calls a minute")
        self._made.append(time.monotonic())

    def estimate_seconds(self, calls: int, each_s: float) -> float:
        """Seconds that calls of `each_s` will take, with the waits that the plan asks for."""
        begin_s = now_s = time.monotonic()
        made = self._made.copy()
        for _ in range(calls):
            if len(made) == self._calls_per_minute:
                now_s = max(now_s, made[0] + MINUTE_S)
            made.append(now_s)
            now_s += each_s
        return now_s - begin_s

    def pause(self, seconds: float, why: str) -> None:
        """Wait, and show how long and why."""
        if seconds >= SHOWN_S:
            self._tell(f"waiting {seconds:.0f} s: {why}")
        if seconds > 0:
            time.sleep(seconds)


def backoff_s(failures: int) -> float:
    """Seconds to wait after so many failures in a row, at least 1.

    A doubling wait, between half of it and all of it, so that many programs that failed
    together do not come back together.
    """
    longest = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
    return longest * (0.5 + secrets.randbelow(501) / 1000)


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
