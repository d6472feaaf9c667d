"""Flags come from the fields of the configuration; what a person types becomes its values."""

import pytest

from optimizer.__main__ import main
from optimizer.cli.flags import parse_bounds, parse_settings, read_given_fields
from optimizer.config.run_config import make_config
from optimizer.errors import ConfigError


def test_only_what_was_given_counts():
    """A flag that was left out has no value, so that the file or the default stands."""
    given = {"seed": "7", "population": None, "bounds": [], "dedupe": False, "tz": ""}
    assert read_given_fields(given) == {"seed": 7, "dedupe": False, "tz": ""}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("population", "100", 100),
        ("seed", "9223372036854775807", 2**63 - 1),
        ("fee_bp", "5", 5.0),
        ("fee_bp", "1e-3", 0.001),
        ("mutation_probability", "0.5", 0.5),
        ("crossover_eta", "15", 15),
        ("memory", "512MiB", "512MiB"),
        ("tz", "5", "5"),
        ("data", "1e3", "1e3"),
    ],
)
def test_text_becomes_what_the_field_holds(name, text, expected):
    """Numbers where the field is a number, and only there."""
    actual = read_given_fields({name: text})[name]
    assert (actual, type(actual)) == (expected, type(expected))


@pytest.mark.parametrize("text", ["x", "1e3", "1.0", "0x10", "", "--", "1" * 5000])
def test_text_that_is_no_whole_number_stays_for_the_configuration_to_refuse(text):
    """It is refused there, together with everything else that is wrong."""
    flags = read_given_fields({"population": text, "seed": "-1"})
    with pytest.raises(ConfigError) as caught:
        make_config(flags, where="here", flags=flags)
    assert "--population must be a whole number" in str(caught.value)
    assert "--seed must be a whole number" in str(caught.value)


def test_bounds_are_read_gene_by_gene():
    """Blanks around a name or a number do not count."""
    assert parse_bounds(["ema_fast=10:50", " reward_r = 1.5 : 3 "]) == {
        "ema_fast": [10.0, 50.0],
        "reward_r": [1.5, 3.0],
    }


def test_bounds_may_name_options():
    """One of them, or the first and the last."""
    assert parse_bounds(["average=ema", "source= close : 2 * hl2"]) == {
        "average": ["ema", "ema"],
        "source": ["close", "2 * hl2"],
    }


@pytest.mark.parametrize(
    "text", ["", "a", "a=", "a=1", "a=1:", "a=:2", "a=1:2:3", "a=x:2", "a:1=2"]
)
def test_other_bounds_are_refused(text):
    """The line shows what was typed and how it should look."""
    with pytest.raises(ConfigError, match=r"--bound '.*' must look like ema_fast=10:50"):
        parse_bounds([text])


def test_settings_are_read_gene_by_gene():
    """One number a gene, or the name of an option."""
    settings = parse_settings(["reward_r=2.5", " max_hold = 7", "average = ema"])
    assert settings == {"reward_r": 2.5, "max_hold": 7.0, "average": "ema"}


@pytest.mark.parametrize("text", ["", "a", "a=", "a= ", "a=1=2", "a=1,2"])
def test_other_settings_are_refused(text):
    """The line shows what was typed and how it should look."""
    with pytest.raises(ConfigError, match=r"--set '.*' must look like reward_r=2.5"):
        parse_settings([text])


@pytest.mark.parametrize(
    ("parse", "texts"),
    [(parse_bounds, ["a=1:2", "b=1:2", "a =3:4"]), (parse_settings, ["a=1", "b=1", "a =1"])],
    ids=["bounds", "settings"],
)
def test_a_gene_that_is_given_twice_is_refused(parse, texts):
    """Which of the two a person means is not for a program to say."""
    with pytest.raises(ConfigError, match="'a' is given twice"):
        parse(texts)


def test_a_command_may_mean_something_narrower(command_help):
    """Where bars are fetched, the bounds of a range are days to fetch and not bars to trade."""
    help_text = command_help("data", "fetch")
    assert "First day to fetch" in help_text
    assert "First bar to trade" not in help_text
    assert "First bar to trade" in command_help("backtest")


@pytest.fixture
def command_help(capsys):
    """The help of a command, its lines joined."""

    def show(*names):
        assert main([*names, "--help"]) == 0
        return " ".join(capsys.readouterr().out.split())

    return show
