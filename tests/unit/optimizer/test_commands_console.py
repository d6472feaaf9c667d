"""What a person reads is short, and never says more than is known."""

import io
import math

import pytest

from optimizer.commands.console import (
    SHOWN_INDIVIDUALS,
    WIDTH_OF_A_FILE,
    Lines,
    certificate_line,
    facts_table,
    front_table,
    genes_table,
)
from optimizer.shown import counted, fraction, metric, number


def printed(*things):
    """What a console that is no terminal makes of them."""
    stream = io.StringIO()
    console = Lines(stream)
    for thing in things:
        console.print(thing)
    return stream.getvalue()


def individuals(count):
    """Individuals as a result lists them."""
    return [
        {
            "genes": {"ema_fast": 10 + i, "reward_r": 2.123456},
            "objectives": {"sharpe": 1.0 + i / 64, "max_drawdown": 0.05},
            "metrics": {"trades": 1234.0, "win_rate": 0.5, "mean_r": None, "exposure": 0.25},
        }
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "-"),
        (math.nan, "-"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (0.0, "0"),
        (-0.5, "-0.5"),
        (3, "3"),
        (1234567, "1,234,567"),
        (1e300, f"{1e300:,.0f}"),
        (2.123456, "2.123"),
        (1234.56, "1,235"),
        (1e-7, "1e-07"),
        (True, "True"),
        ("x", "x"),
    ],
)
def test_numbers_are_short(value, expected):
    """Four significant digits, thousands apart, and a dash where nothing is known."""
    assert number(value) == expected


def test_fractions_are_percent():
    """Only here, where a person reads them."""
    assert (fraction(0.12345), fraction(-1.0), fraction(math.nan)) == ("12.35%", "-100.00%", "-")
    assert (metric("win_rate", 0.5), metric("sharpe", 0.5)) == ("50.00%", "0.5")


def test_one_is_no_plural():
    """The noun fits the count."""
    assert [counted(n, "bar") for n in (0, 1, 2, 35_040)] == [
        "0 bars",
        "1 bar",
        "2 bars",
        "35,040 bars",
    ]


def test_the_front_is_cut_and_says_so():
    """A large front shows its first members, and how many there are."""
    text = printed(front_table(individuals(50), ["sharpe", "max_drawdown"]))
    assert f"Front: 50 individuals, the first {SHOWN_INDIVIDUALS} shown" in text
    assert len(text.splitlines()) == 1 + 2 + SHOWN_INDIVIDUALS
    assert "Front: 1 individual\n" in "\n".join(
        line.rstrip() for line in printed(front_table(individuals(1), ["sharpe"])).splitlines()
    )


def test_the_front_shows_objectives_first_and_no_metric_twice():
    """What was asked for, then what puts it in perspective; what is undefined is a dash."""
    text = printed(front_table(individuals(1), ["win_rate", "sharpe"]))
    row = text.splitlines()[-1].split()
    assert row == ["0", "50.00%", "1", "1,234", "-", "25.00%"]


def test_genes_stand_in_the_order_of_the_front():
    """The place of an individual is the same in both tables."""
    rows = printed(genes_table(individuals(3))).splitlines()[-3:]
    assert [row.split()[:2] for row in rows] == [["0", "10"], ["1", "11"], ["2", "12"]]


def test_certificates_say_how_much_was_compared():
    """Counts, verdict and the beginnings of both hashes in one line."""
    certificate = {
        "individuals": 1,
        "trades": 1200,
        "mismatches": 0,
        "ledger_hash": "a" * 64,
        "data_hash": "b" * 64,
    }
    assert certificate_line(certificate) == (
        "certificate: 1 individual replayed by the reference, 1,200 trades, 0 mismatches "
        f"(ledger {'a' * 12}, data {'b' * 12})"
    )
    assert "3 MISMATCHES" in certificate_line({**certificate, "mismatches": 3})


def test_lines_are_never_broken_and_markup_is_text():
    """A program reads a line as one; brackets and words between colons stay as they are."""
    stream = io.StringIO()
    text = "[bold]x[/bold] :smile: " + "word " * 200 + "end"
    Lines(stream).say(text)
    assert stream.getvalue() == text + "\n"


def test_long_facts_are_folded_and_not_cut():
    """No character of a value is lost where the output is a file."""
    long = "x" * (2 * WIDTH_OF_A_FILE)
    assert "".join(printed(facts_table({"name": long})).split()) == "name" + long
