"""Flags come from the fields of the configuration; typed words become its values."""

import pytest

from optimizer.cli.flags import parse_bounds, parse_settings, read_given_fields


def test_only_flags_that_were_given_count():
    """A flag that was left out has no value, so that the file or the default stands."""
    given = {"seed": "7", "population": None, "bounds": [], "dedupe": False, "tz": ""}
    assert read_given_fields(given) == {"seed": 7, "dedupe": False, "tz": ""}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("population", "100", 100),
        ("seed", "9223372036854775807", 2**63 - 1),
        ("fee_bp", "1e-3", 0.001),
        ("memory", "512MiB", "512MiB"),
        ("data", "1e3", "1e3"),
    ],
)
def test_text_becomes_a_number_where_the_field_is_one(name, text, expected):
    """And only there."""
    actual = read_given_fields({name: text})[name]
    assert (actual, type(actual)) == (expected, type(expected))


def test_bounds_and_settings_are_read_gene_by_gene():
    """Numbers, or options: one, or the first and the last; blanks do not count."""
    texts = ["ema_fast=10:50", " reward_r = 1.5 : 3 ", "average=ema", "source= close : 2 * hl2"]
    assert parse_bounds(texts) == {
        "ema_fast": [10.0, 50.0],
        "reward_r": [1.5, 3.0],
        "average": ["ema", "ema"],
        "source": ["close", "2 * hl2"],
    }
    settings = parse_settings(["reward_r=2.5", " max_hold = 7", "average = ema"])
    assert settings == {"reward_r": 2.5, "max_hold": 7.0, "average": "ema"}
