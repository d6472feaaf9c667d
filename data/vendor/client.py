"""The vendor Polygon: its account, and calls by its own client at the pace that is allowed.

A call has limits on bytes and time, is made again after failures that may pass, and its words hold
no key. The client builds each request and hands it to a pool of connections. Another pool takes the
place of that one, which follows no redirect and decides how an answer is read.
"""

import base64
import contextlib
import ipaddress
import json
import os
import re
import secrets
import time
import tomllib
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, urlsplit

import urllib3
from platformdirs import user_config_path
from urllib3.exceptions import HTTPError, InvalidHeader

from data.cache import APP
from data.errors import FetchError, SourceError, near_match
from data.files import others_reach, read_ordinary
from data.shell import quote_word

FILE = "vendors.toml"
SECTION = "polygon"
VARIABLES = ("POLYGON_API_KEY", "MASSIVE_API_KEY")
"""Variables in which a key is looked for, in this order, before the file."""

HOSTS = ("api.polygon.io", "api.massive.com")
"""The vendor's old and new name; both serve the same bars."""

FREE_CALLS_PER_MINUTE, MOST_CALLS_PER_MINUTE = 5, 1_000_000
LARGEST_FILE_BYTES = 100_000
KEY = re.compile(r"[!-~]{8,256}")
HIDDEN = "(key)"

READ_KEYS: set[str] = set()
"""Keys that this process has read, to be hidden wherever it prints."""

TRIES = 8
MINUTE_S = 60.0
LONGEST_ASKED_S, LONGEST_PAGE_S = 300.0, 900.0
"""A fetch ends where a vendor asks to wait longer, or a page with all its waits takes longer."""

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Waits after failures double from the first to the longest: eight tries outlast a minute's ban."""

SHOWN_S = 1.0
"""Shorter waits are not worth a line."""

Tell = Callable[[str], None]
Answer = TypeVar("Answer")

CLIENTS = ("massive", "polygon")
"""Names under which the vendor's client is installed, the maintained one first."""

CONNECT_S, READ_S, CALL_S = 10.0, 30.0, 120.0
"""Seconds to connect, between two pieces of an answer, and for one call from end to end."""

LARGEST_PAGE_BYTES = 32_000_000
"""A page of 50,000 bars has 6 MB; anything of this size is something else."""

PIECE_BYTES = 65_536
LARGEST_ERROR_BYTES, SHOWN_CHARACTERS = 2_000, 160

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same call may be made again."""

REFUSED = {
    401: "the vendor does not know this key",
    403: "the vendor's plan does not cover this",
    404: "the vendor does not know this",
}


@dataclass(frozen=True)
class VendorAccount:
    """Key, address and pace of calls to the vendor."""

    key: str = field(repr=False)
    url: str | None = None  # None for the client's own
    calls_per_minute: int = FREE_CALLS_PER_MINUTE

    def redact(self, text: str) -> str:
        """A text without the key: plain, as part of an address, or in base64."""
        for form in forms_of_key(self.key):
            text = text.replace(form, HIDDEN)
        return text


@dataclass(eq=False)
class CallError(Exception):
    """A call failed; its words hold neither the address nor the key."""

    words: str
    status: int = 0  # of the answer; 0 where there was none
    can_repeat: bool = False  # whether the same call may succeed later
    # Seconds to wait by the vendor's word; None without one.
    retry_after_s: float | None = None
    body: bytes = b""  # first part of the answer, for the vendor's own words
    tries: int = 1  # calls that were made

    def __str__(self) -> str:
        return self.words + (f" after {self.tries} tries" if self.tries > 1 else "")

    @property
    def wait(self) -> str:
        """The end of a message: the requested wait."""
        asked_s = self.retry_after_s
        return "" if asked_s is None else f"; it asks to wait {asked_s:.0f} s"


class Pace:
    """Pace of calls that a plan allows within any 60 seconds; longer waits are shown.

    Args:
        calls_per_minute: None where the client keeps to a pace itself.
        tell: Takes one line for each wait.
    """

    def __init__(self, calls_per_minute: int | None, tell: Tell) -> None:
        self._made: deque[float] = deque(maxlen=calls_per_minute or 0)
        self._calls_per_minute, self._tell = calls_per_minute, tell

    def call(self, question: Callable[[], Answer]) -> Answer:
        """Ask, and ask again after failures that may pass; the last failure is a `CallError`."""
        began = time.monotonic()
        for tries in range(1, TRIES + 1):
            self.take()
            try:
                return question()
            except CallError as error:
                failed = error
            failed.tries = tries
            wait_s = backoff_s(tries) if failed.retry_after_s is None else failed.retry_after_s
            left_s = LONGEST_PAGE_S - (time.monotonic() - began)
            if not failed.can_repeat or tries == TRIES or wait_s > min(LONGEST_ASKED_S, left_s):
                break
            self.pause(wait_s, f"{failed.words}, try {tries} of {TRIES}")
        raise failed from None

    def take(self) -> None:
        """Wait until one more call is allowed, and count it."""
        if self._calls_per_minute and len(self._made) == self._calls_per_minute:
            wait_s = self._made[0] + MINUTE_S - time.monotonic()
            self.pause(wait_s, f"the plan allows {self._calls_per_minute} calls a minute")
        self._made.append(time.monotonic())

    def pause(self, seconds: float, why: str) -> None:
        """Wait, and show how long and why."""
        if seconds >= SHOWN_S:
            self._tell(f"waiting {seconds:.0f} s: {why}")
        if seconds > 0:
            time.sleep(seconds)


class VendorClient:
    """Requests pages at the pace of an account."""

    def __init__(self, account: VendorAccount, pace: Pace) -> None:
        self._account, self._pace = account, pace
        self._rest = _load_client(account)
        check_url(self._rest.BASE)

    def page(self, *place: str | int, **params: str) -> bytes:
        """The body of one page, requested again after failures that may pass.

        `place` is symbol, multiplier, timespan, and first and last time in milliseconds.
        """
        try:
            body: bytes = self._pace.call(
                lambda: self._rest.list_aggs(*place, params=params, raw=True).data
            )
        except CallError as error:
            words = REFUSED.get(error.status, "the vendor gives no bars")
            own_words = self._account.redact(_message(error.body))[:SHOWN_CHARACTERS]
            says = f", it says {own_words!r}" if own_words else ""
            raise FetchError(f"polygon:{place[0]}: {words} ({error}{says}){error.wait}") from None
        return body


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
    ) -> SimpleNamespace:
        """Make one call, once; the answer has `status` and `data`, unpacked.

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
            with contextlib.closing(response):
                return _answer(response, deadline)
        except (HTTPError, OSError) as error:
            # Messages of the library show the address; its class is enough.
            what = type(error).__name__
            raise CallError(f"the connection failed ({what})", can_repeat=True) from None


def forms_of_key(key: str) -> tuple[str, ...]:
    """A key as it may stand in a text: plain, as part of an address, or in base64."""
    coded = base64.b64encode(key.encode()).decode().rstrip("=")
    return key, quote(key, safe=""), quote_plus(key), coded


def config_file() -> Path:
    """The file in which a person may keep a key, an address and the calls a minute."""
    return Path(user_config_path(APP)) / FILE


def find_account() -> VendorAccount:
    """The account of this user, from the environment and the file; errors show no key."""
    path, name = config_file(), _variable()
    settings = _read_settings(path)
    key = os.environ[name] if name else settings.get("api_key")
    if key is None:
        raise SourceError(
            f"polygon needs a key: set {' or '.join(VARIABLES)}, or write [{SECTION}] with "
            f'api_key = "..." into {path}'
        )
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise SourceError(
            f"the key in {name or path} is none: a key has 8 to 256 letters, digits and signs "
            "and no spaces"
        )
    READ_KEYS.add(key)
    calls = settings.get("calls_per_minute", FREE_CALLS_PER_MINUTE)
    if type(calls) is not int or not 1 <= calls <= MOST_CALLS_PER_MINUTE:
        raise SourceError(
            f"{path}: calls_per_minute must be a whole number from 1 to {MOST_CALLS_PER_MINUTE:,}"
        )
    url = settings.get("url")
    return VendorAccount(key, None if url is None else check_url(str(url)), calls)


def tell_key() -> str:
    """Place of the key, in words that do not show it; or the fault."""
    try:
        find_account()
    except SourceError as error:
        return str(error)
    return f"in {_variable() or config_file()}"


def check_url(url: str) -> str:
    """Scheme, host and port of an address of the vendor or of this machine; SourceError else."""
    parts = urlsplit(url)
    plain = not (parts.username or parts.password or parts.path.strip("/") or parts.query)
    is_vendor = parts.scheme == "https" and parts.netloc in HOSTS
    is_local = parts.scheme in ("http", "https") and _is_loopback(parts.hostname)
    if not (plain and (is_vendor or is_local)):
        known = ", ".join(f"https://{host}" for host in HOSTS)
        raise SourceError(
            f"polygon: url {url[:80]!r} is not the vendor's, the key would go to a stranger; "
            f"known: {known}, or an address of this machine such as http://127.0.0.1:8080"
        )
    return f"{parts.scheme}://{parts.netloc}"


def backoff_s(failures: int) -> float:
    """Seconds to wait after so many failures: drawn, so that programs do not come back together."""
    longest = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
    return longest * (0.5 + secrets.randbelow(501) / 1000)


def parse_retry_delay(value: str | None) -> float | None:
    """Seconds of a Retry-After header; None without one."""
    try:
        return None if value is None else max(urllib3.Retry().parse_retry_after(value), 0.0)
    except (InvalidHeader, ValueError, OverflowError):
        return None


def _variable() -> str | None:
    return next((name for name in VARIABLES if os.environ.get(name)), None)


def _is_loopback(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _read_settings(path: Path) -> Mapping[str, object]:
    try:
        content = read_ordinary(path, LARGEST_FILE_BYTES)
        mode = path.stat().st_mode
        settings = tomllib.loads(content.decode("utf-8")).get(SECTION, {})
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        # The message of the parser may show a line that holds the key.
        where = "see data/vendor/README.md for its form"
        raise SourceError(f"{path}: is no TOML file; {where}") from None
    if not isinstance(settings, dict):
        raise SourceError(f"{path}: {SECTION} must be a table, [{SECTION}]")
    known = ["api_key", "url", "calls_per_minute"]
    for name in settings:
        if name not in known:
            raise SourceError(f"{path}: {name[:40]!r} is unknown{near_match(name, known)}")
    if "api_key" in settings and others_reach(mode):
        raise SourceError(f"{path}: others can read the key in it; chmod 600 {quote_word(path)}")
    return settings


def _answer(response: urllib3.BaseHTTPResponse, deadline: float) -> SimpleNamespace:
    status, body = response.status, b""
    if status == 200:
        return SimpleNamespace(
            status=status, data=_read_body(response, deadline, LARGEST_PAGE_BYTES)
        )
    # The status counts even where the body of an error does not come.
    with contextlib.suppress(HTTPError, OSError, CallError):
        body = _read_body(response, deadline, LARGEST_ERROR_BYTES)
    delay = parse_retry_delay(response.headers.get("Retry-After"))
    raise CallError(f"status {status}", status, status in AGAIN, delay, body)


def _read_body(response: urllib3.BaseHTTPResponse, deadline: float, most: int) -> bytes:
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        raise CallError(f"the answer is packed as {coding[:20]!r}")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if coding == "gzip" else None
    body = bytearray()
    while piece := response.read1(PIECE_BYTES, decode_content=False):
        try:
            body += unpack.decompress(piece, most + 1 - len(body)) if unpack else piece
        except zlib.error:
            raise CallError("the answer cannot be unpacked") from None
        if len(body) > most:
            raise CallError(f"the answer has more than {most:,} bytes")
        if time.monotonic() > deadline:
            raise CallError(f"the answer took more than {CALL_S:g} s", can_repeat=True)
    stated = response.headers.get("Content-Length", "")
    is_whole = unpack.eof if unpack else not stated.isdigit() or int(stated) == len(body)
    if not is_whole:
        raise CallError("the answer was cut off", can_repeat=True)
    return bytes(body)


def _load_client(account: VendorAccount) -> Any:  # noqa: ANN401 - the client ships no types
    name = next((name for name in CLIENTS if find_spec(name)), None)
    if name is None:
        raise SourceError("polygon needs the vendor's client: pip install polygon-api-client")
    options = {} if account.url is None else {"base": account.url}
    make = import_module(name).RESTClient
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
