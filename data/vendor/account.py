"""Key, address and calls a minute of the vendor's account: read when a call is due."""

import base64
import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit

from platformdirs import user_config_path

from data.errors import SourceError, near_match
from data.files import others_reach, read_ordinary
from data.shell import quote_word

APP = "exhaustion-optimizer"
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
