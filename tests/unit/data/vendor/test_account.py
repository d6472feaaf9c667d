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


def test_an_account_does_not_show_its_key():
    """Neither repr nor str holds it."""
    account = VendorAccount(KEY)
    assert KEY not in f"{account!r} {account}"


@pytest.mark.parametrize(
    "form", [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()]
)
def test_a_text_is_freed_of_the_key(form):
    """Plain, as part of an address, and in base64."""
    assert KEY not in VendorAccount(KEY).redact(f"before {form} after")
    assert form.rstrip("=") not in VendorAccount(KEY).redact(f"before {form} after")


@pytest.mark.parametrize(
    "url",
    ["https://api.polygon.io", "https://api.massive.com/", "http://127.0.0.1:8080",
     "http://[::1]:9", "https://127.0.0.1"],
)  # fmt: skip
def test_addresses_that_may_have_the_key(url):
    """The vendor's own over https, and this machine."""
    assert check_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    ["http://api.polygon.io", "https://api.polygon.io:444", "https://api.polygon.io/x",
     "https://api.polygon.io?x=1", "https://api.polygon.io.evil.org", "https://evil.org",
     "https://a:b@api.polygon.io", "http://127.0.0.1@evil.org", "http://localhost", "ftp://127.0.0.1",
     "http://0.0.0.0", "http://192.168.0.1", "127.0.0.1", "", "http://127.0.0.1.evil.org"],
)  # fmt: skip
def test_addresses_that_must_not_have_it(url):
    """Whatever is not exactly the vendor or this machine is refused."""
    with pytest.raises(SourceError, match="would go to a stranger"):
        check_url(url)


def test_a_broken_file_is_met_with_the_page_that_shows_its_form(monkeypatch, tmp_path):
    """The page that the message names holds the file's keys."""
    monkeypatch.setattr("data.vendor.account.config_file", lambda: tmp_path / "vendors.toml")
    (tmp_path / "vendors.toml").write_text("[polygon\n")
    with pytest.raises(SourceError, match="is no TOML file") as refused:
        find_account()
    page = re.search(r"see (\S+) for its form", str(refused.value))[1]
    assert "calls_per_minute =" in (Path(data.__file__).parents[1] / page).read_text("utf-8")


def test_the_first_variable_wins(monkeypatch, tmp_path):
    """The older name before the newer; an empty one counts as absent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MASSIVE_API_KEY", "newer-key")
    monkeypatch.setenv("POLYGON_API_KEY", "older-key")
    assert find_account().key == "older-key"
    monkeypatch.setenv("POLYGON_API_KEY", "")
    assert find_account().key == "newer-key"
    assert find_account().calls_per_minute == 5
