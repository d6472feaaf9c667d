"""What is printed commands no terminal and shows no secret."""

import pytest

from data.vendor import account
from optimizer.printable import clean_values, printable

KEY = "abcdef0123456789"


@pytest.mark.parametrize("sign", ["\x1b", "\x9b", "\u202e", "\u2066", "\r", "\u2028"])
def test_signs_that_command_a_terminal_are_shown_as_a_question(sign):
    """Escapes, C1, signs of direction and whatever moves the cursor."""
    assert printable(f"a{sign}[2Jb") == "a?[2Jb"


def test_values_of_a_record_stay_in_one_line():
    """Also names of a mapping; numbers are as they were."""
    value = {"a\nb\x1b": ["x\ny", 1.5, None, {"z": "\u202e"}]}
    assert clean_values(value) == {"a b?": ["x y", 1.5, None, {"z": "?"}]}


@pytest.mark.parametrize(
    "text",
    [
        "https://api.host/v2?limit=5&apiKey={}",
        "status 403: Authorization: Bearer {}",
        "api_key = '{}'",
        "https://name:{}@host/bars.csv",
        "wss://{}@host",
        '{{"access_token": "{}"}}',
        "password={}",
    ],
)
def test_a_secret_by_its_name_is_hidden(text):
    """In an address, a header, a file or JSON."""
    shown = printable(text.format(KEY))
    assert KEY not in shown
    assert "(hidden)" in shown


def test_a_secret_that_is_known_is_hidden_anywhere(monkeypatch):
    """Of the environment, and of the vendor's account."""
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert KEY not in printable(f"no such file {KEY}.csv")
    monkeypatch.delenv("SOME_API_KEY")
    monkeypatch.setattr(account, "READ_KEYS", {KEY})
    assert KEY not in printable(f"no such file {KEY}.csv")
    monkeypatch.setattr(account, "READ_KEYS", set())
    assert KEY in printable(f"no such file {KEY}.csv")


def test_other_text_is_as_it_was():
    """Words that only sound like a secret."""
    for text in ("https://host/a:b", "seed: recorded 1, now 2", 'write api_key = "..." into x', ""):
        assert printable(text) == text
