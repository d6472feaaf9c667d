"""Texts for people are short, and never claim more than is known."""

import io
from dataclasses import replace

import pytest

from optimizer.cli.console import WIDTH_OF_A_FILE, Lines, facts_table, plain_table
from optimizer.cli.notes import note, wrap_text
from optimizer.cli.tables import (
    front_tables,
    front_title,
    genes_tables,
)
from optimizer.run.tables import SHOWN_MEMBERS, find_differing
from optimizer.store.result import Member


def print_plain(*things):
    """The text of a console that is no terminal."""
    stream = io.StringIO()
    console = Lines(stream)
    for thing in things:
        console.print(thing)
    return stream.getvalue()


def test_no_text_commands_the_terminal(capsys):
    """Names and symbols of a record come from anywhere; lines of a text stay lines."""
    table = plain_table("strategy", "data")
    table.add_row("a\x1b[31mred\x1b]0;title\x07", "b\u202etxt\x9b2J")
    text = print_plain(table, "one\ntwo\x1b[2J über 日本 🦊")
    assert {character for character in text if not character.isprintable()} == {"\n"}
    note("\x1b[31m")
    assert capsys.readouterr().err == "note: ?[31m\n"
    for part in ("a?[31mred?]0;title?", "b?txt?2J", "one\ntwo?[2J über 日本 🦊"):
        assert part in text


def test_lines_are_never_broken_nor_cut_where_the_output_is_a_file():
    """A program reads a line as one; brackets and words between colons stay as they are."""
    stream = io.StringIO()
    text = "[bold]x[/bold] :smile: " + "word " * 200 + "end"
    Lines(stream).say(text)
    assert stream.getvalue() == text + "\n"
    long = "x" * (2 * WIDTH_OF_A_FILE)
    assert "".join(print_plain(facts_table({"name": long})).split()) == "name" + long


def members(count):
    """Members as a result lists them."""
    return [
        Member(
            genes={"ema_fast": 10 + i, "reward_r": 2.123456},
            objectives={"sharpe": 1.0 + i / 64, "max_drawdown": 0.05},
            metrics={"trades": 1234.0, "win_rate": 0.5, "mean_r": None, "exposure": 0.25},
        )
        for i in range(count)
    ]


def test_a_large_front_is_shown_by_those_that_differ_most():
    """The best in each objective and the corners between them, under their numbers in the front."""
    goals = ["sharpe", "max_drawdown"]
    crowd = members(50)
    crowd[20].objectives["max_drawdown"] = 0.02
    crowd[33].objectives["max_drawdown"] = 0.9
    crowd.sort(key=lambda member: -member.objectives["sharpe"])
    assert len(find_differing(crowd, goals)) == SHOWN_MEMBERS
    shown = find_differing(crowd, goals, most=20)
    assert len(shown) == 20
    assert list(shown) == sorted(shown)
    assert {0, 16, 29, 49} <= set(shown)
    assert all(crowd[place] is member for place, member in shown.items())
    assert all(word in front_title(50, 20) for word in ("50 members, 20", "--front all"))
    text = print_plain(*front_tables(shown, goals))
    assert [int(line.split()[0]) for line in text.splitlines()[2:]] == list(shown)
    assert (front_title(5, 5), front_title(1, 1)) == ("Front: 5 members", "Front: 1 member")


@pytest.mark.parametrize("width", [40, 80])
def test_tables_fit_and_the_pick_is_marked(width):
    """Metrics beside the objectives give way, many genes go on below; no number is cut."""
    genes = {f"gene_{place}": 1234.5 + place for place in range(15)}
    crowd = [replace(member, genes=genes) for member in members(50)]
    shown = find_differing(crowd, ["sharpe", "max_drawdown"], 27)
    assert 27 in shown
    front = front_tables(shown, ["sharpe", "max_drawdown"], width, 27, {27: 0.1875})
    text = print_plain(*front, *genes_tables(shown, width))
    assert max(map(len, map(str.rstrip, text.splitlines()))) <= width
    assert "…" not in text
    assert [line.split()[0] for line in text.splitlines() if "*" in line] == ["*27"]
    expected = [line.split()[0] for line in text.splitlines() if "0.1875" in line]
    assert expected == (["*27"] if width == 80 else [])
    assert all(f"{1234.5 + place:,.0f}" in text for place in range(15))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a note: what is long", ["a note:", "  what is", "  long"]),
        (
            "do: python -m optimizer judge 'my runs/x 1' --open now",
            ["do:", "  python -m optimizer judge 'my runs/x 1' --open", "  now"],
        ),
        ("  a reason.", ["  a", "    reason."]),
        ("in about 27 s", ["in about", "  27 s"]),
        ("unbreakable-hyphens.and/a/path", ["unbreakable-hyphens.and/a/path"]),
    ],
)
def test_lines_break_between_words_and_never_within_a_command(text, lines):
    """In a terminal of ten columns."""
    assert wrap_text(text, 10).split("\n") == lines
