"""Keys and addresses: where they come from, where they may go, and that they do not show."""

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest

import data
from data.errors import SourceError
from data.vendor.account import VendorAccount, check_url, find_account

KEY = "secret+KEY/1=="
STRANGERS = ("http://api.polygon.io", "https://api.polygon.io:444", "https://api.polygon.io/x",
             "https://api.polygon.io?x=1", "https://api.polygon.io.evil.org", "https://evil.org",
             "https://a:b@api.polygon.io", "http://127.0.0.1@evil.org", "http://localhost",
             "ftp://127.0.0.1", "http://0.0.0.0", "http://192.168.0.1", "127.0.0.1", "",
             "http://127.0.0.1.evil.org")  # fmt: skip


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """The file of settings, which is not there, and a key in the older variable."""
    monkeypatch.setattr("data.vendor.account.config_file", lambda: tmp_path / "vendors.toml")
    monkeypatch.setenv("POLYGON_API_KEY", "older-key")
    monkeypatch.delenv("MASSIVE_API_KEY", raising=False)
    return tmp_path / "vendors.toml"


@pytest.mark.parametrize(
    "form", [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()]
)
def test_a_text_is_freed_of_the_key(form):
    """Plain, as part of an address, and in base64; an account does not show it either."""
    account = VendorAccount(KEY)
    assert KEY not in f"{account!r} {account}"
    assert form.rstrip("=") not in account.redact(f"before {form} after")


def test_the_key_goes_to_the_vendor_and_this_machine_alone():
    """Whatever is not exactly one of them is a stranger."""
    for url in ("https://api.polygon.io", "https://api.massive.com/", "http://127.0.0.1:8080",
                "http://[::1]:9", "https://127.0.0.1"):  # fmt: skip
        assert check_url(url) == url.rstrip("/")
    for url in STRANGERS:
        with pytest.raises(SourceError, match="stranger"):
            check_url(url)


def test_the_key_comes_from_where_it_is_kept(monkeypatch, settings):
    """The older variable before the newer, an empty one counts as absent; then the file."""
    monkeypatch.setenv("MASSIVE_API_KEY", "newer-key")
    assert find_account().key == "older-key"
    monkeypatch.setenv("POLYGON_API_KEY", "")
    assert (find_account().key, find_account().calls_per_minute) == ("newer-key", 5)
    monkeypatch.delenv("MASSIVE_API_KEY")
    settings.write_text('[polygon]\napi_key = "key-of-a-file"\ncalls_per_minute = 7\n')
    settings.chmod(0o600)
    assert (find_account().key, find_account().calls_per_minute) == ("key-of-a-file", 7)
    settings.chmod(0o644)
    with pytest.raises(SourceError, match="chmod 600"):
        find_account()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((f'[polygon]\nurl = "{url}"\n', "stranger") for url in STRANGERS[:2]),
        ("[polygon]\nurl = 5\n", "stranger"),
        ("[polygon]\ncalls_per_minute = 0\n", "calls_per_minute"),
        ("[polygon]\ncalls_per_minute = true\n", "calls_per_minute"),
        ("[polygon]\nkey = 'x'\n", "'key'"),
        ("polygon = 3\n", "table"),
        (f"[polygon]\napi_key = '{KEY}\n", "TOML"),
        ("#" * 200_000, "larger"),
        ("a = " + "[" * 5000, "TOML"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(settings, text, words):
    """The line names the file and never shows a key; the page that it names has the form."""
    settings.write_text(text)
    with pytest.raises(SourceError, match=words) as refused:
        find_account()
    message = str(refused.value)
    assert KEY not in message
    assert str(settings) in message or "url" in message
    if words == "TOML":
        page = re.search(r"see (\S+) for its form", message)[1]
        assert "calls_per_minute =" in (Path(data.__file__).parents[1] / page).read_text("utf-8")
