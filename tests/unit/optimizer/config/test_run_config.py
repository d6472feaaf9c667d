"""A configuration is strict, names its faults, and survives TOML."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.table import LARGEST_SOURCE_BYTES
from engine.accounts.costs import Costs
from optimizer.config.run_config import (
    RunConfig,
    describe_allowed_values,
    make_config,
    overlaid,
    resolve_config,
    to_toml,
)
from optimizer.config.values import Decides, read_schema_extra
from optimizer.errors import ConfigError
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.store.space import KEEPS
from tests.support.looping import each


def refusal(**values):
    """The error that values earn."""
    with pytest.raises(ConfigError) as caught:
        make_config(values, where="here")
    return str(caught.value)


def write(folder, content):
    """A TOML file of text or bytes."""
    path = Path(folder) / "run.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_defaults_are_those_of_the_parts_that_they_reach():
    """A part used alone behaves as it does under the command line."""
    config = RunConfig()
    assert Costs(config.fee_bp, config.slippage_bp, config.min_risk, config.risk_fraction) == (
        Costs()
    )
    assert config.memory is None
    assert config.max_bytes == LARGEST_SOURCE_BYTES
    assert config.min_trades == Goals(parse_objectives(config.objectives)).min_trades


def test_choices_are_those_of_the_parts_that_they_reach():
    """What the configuration allows is what the store takes."""
    assert describe_allowed_values("keep") == f"one of {', '.join(KEEPS)}"


BOUND = "[low, high], two finite numbers or names of options, or one name"
"""What a bound is, as errors say it."""


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("population", "100", "population must be a whole number from 1 to 10,000,000, got '100'"),
        ("population", True, "population must be a whole number from 1 to 10,000,000, got True"),
        ("population", 1e3, "population must be a whole number from 1 to 10,000,000, got 1000.0"),
        ("population", 0, "population must be a whole number from 1 to 10,000,000, got 0"),
        ("generations", -5, "generations must be a whole number from 0 to 10,000,000, got -5"),
        ("seed", 10**23, "seed must be a whole number from 0 to 9,223,372,036,854,775,807, got 1"),
        ("fee_bp", float("inf"), "fee_bp must be a number from 0 to 10,000, got inf"),
        ("fee_bp", float("nan"), "fee_bp must be a number from 0 to 10,000, got nan"),
        ("fee_bp", False, "fee_bp must be a number from 0 to 10,000, got False"),
        ("risk_fraction", 0, "risk_fraction must be a number above 0, at most 1, got 0"),
        ("seed", -1, "seed must be a whole number from 0 to 9,223,372,036,854,775,807, got -1"),
        ("population", 2.5, "population must be a whole number from 1 to 10,000,000, got 2.5"),
        ("generations", 1.0, "generations must be a whole number from 0 to 10,000,000, got 1.0"),
        ("crossover_probability", 1.1, "must be a number from 0 to 1, got 1.1"),
        ("crossover_probability", float("nan"), "must be a number from 0 to 1, got nan"),
        ("mutation_probability", 1.5, "must be a number from 0 to 1, got 1.5"),
        ("mutation_probability", -0.1, "must be a number from 0 to 1, got -0.1"),
        ("max_evaluations", 0, "max_evaluations must be a whole number of at least 1, got 0"),
        ("max_seconds", 0, "max_seconds must be a number above 0, got 0"),
        ("plateau", 0, "plateau must be a whole number of at least 1, got 0"),
        ("crossover_eta", 20, "crossover_eta must be one of 1, 3, 7, 15, 31, 63, got 20"),
        ("mutation_eta", True, "mutation_eta must be one of 1, 3, 7, 15, 31, 63, got True"),
        ("mutation_eta", 15.0, "mutation_eta must be one of 1, 3, 7, 15, 31, 63, got 15.0"),
        (
            "device",
            "gpu",
            "device must be auto, cpu, cuda, or GPUs by number as in cuda:0,1, got 'gpu'",
        ),
        ("dedupe", 1, "dedupe must be true or false, got 1"),
        ("tz", 5, "tz must be text, got 5"),
        ("memory", "much", "memory must be an amount of memory such as 512MiB, got 'much'"),
        ("memory", 0, "memory must be an amount of memory such as 512MiB, got 0"),
        ("bounds", 3, "bounds must be a table of gene = [low, high], got 3"),
        ("bounds", {"a": [1]}, f"bounds.a must be {BOUND}, got [1]"),
        ("bounds", {"a": [1, 2, 3]}, f"bounds.a must be {BOUND}, got [1"),
        ("bounds", {"a": 3}, f"bounds.a must be {BOUND}, got 3"),
        ("steps", {"a": "1"}, "steps.a must be a finite number, got '1'"),
        ("steps", 3, "steps must be a table of gene = step, got 3"),
        ("columns", {"low": 3}, "columns.low must be text, got 3"),
        ("bounds", {"a": [1, True]}, f"bounds.a must be {BOUND}, got [1, True]"),
    ],
)
def test_wrong_values_are_refused_with_what_is_expected(field, value, expected):
    """The message names the key, the type, the range and the value."""
    assert expected in refusal(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", 0),
        ("seed", 2**63 - 1),
        ("generations", 0),
        ("crossover_probability", 0.0),
        ("mutation_probability", 1.0),
        ("mutation_eta", 63),
    ],
)
def test_limits_are_legal(field, value):
    """The ends of each range can be used."""
    assert getattr(make_config({field: value}, where="here"), field) == value


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("popullation", "; did you mean 'population'?"),
        ("Population", "; did you mean 'population'?"),
        ("fee-bp", "; did you mean 'fee_bp'?"),
        ("bound", "; did you mean 'bounds'?"),
        ("run", "; did you mean 'runs'?"),
        ("qqq", ""),
        ("max_open_trades", "freqtrade's: here --max-positions"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest(key, hint):
    """A key that is misspelt, in the wrong case or another program's is an error."""
    assert refusal(**{key: 3}) in (f"here: {key} is unknown{hint}", f"here: {key} is {hint}")


@pytest.mark.parametrize("key", ["search", "serch", "costs", "data", "holdout", "population"])
def test_keys_below_a_line_in_brackets_are_told_to_stand_without(key):
    """Other programs part a file so; what stands below is never half read."""
    assert "; keys stand without a line in [brackets]" in refusal(**{key: {"population": 64}})


def test_a_table_of_bounds_stays_one():
    """Some knobs are tables."""
    assert make_config({"steps": {"slow": 5}}, where="here").steps == {"slow": 5.0}


def test_long_values_are_cut():
    """A message never repeats a whole file."""
    assert len(refusal(population="x" * 10_000)) < 200


def test_whole_numbers_stand_for_numbers():
    """``fee_bp = 5`` is as good as ``5.0``."""
    assert make_config({"fee_bp": 5}, where="here").fee_bp == 5.0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("population = ", "run.toml: Invalid value"),
        ("seed = 1\nseed = 2", "run.toml: Cannot overwrite a value"),
        (b"\xff\xfe\x00\x01", "run.toml: is not text; name a TOML file"),
        (b"SQLite format 3\0", "run.toml: "),
        ("x = " + "[" * 3000 + "]" * 3000, "run.toml: nested too deep"),
        ("seed = 1" + "0" * 5000, "run.toml: "),
        ("# " + "x" * 1_000_000, "run.toml: larger than 1,000,000 bytes"),
        ("population = 1e3", "run.toml: population must be a whole number"),
        ("population = inf", "run.toml: population must be a whole number"),
    ],
    ids=["syntax", "twice", "binary", "database", "nested", "digits", "large", "float", "inf"],
)
def test_files_that_are_no_configuration_are_refused(tmp_path, content, expected):
    """Whatever a file holds, the error is one line that names the file."""
    with pytest.raises(ConfigError, match=r"run\.toml") as caught:
        resolve_config(write(tmp_path, content), {})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_and_missing_files_are_refused(tmp_path):
    """Both are named for what they are."""
    with pytest.raises(ConfigError, match="is a folder; name a TOML file"):
        resolve_config(tmp_path, {})
    with pytest.raises(ConfigError, match="No such file"):
        resolve_config(tmp_path / "nothing.toml", {})


def test_errors_name_the_source_of_a_value(tmp_path):
    """A flag is named as it is typed, a key as it stands in its file."""
    path = write(tmp_path, "population = 0\nmin_trades = -1\n")
    with pytest.raises(ConfigError) as caught:
        resolve_config(path, {"min_trades": -2, "bounds": {"x": [1]}})
    message = str(caught.value)
    assert message.startswith(f"{path}: population must be")
    assert "; --min-trades must be" in message
    assert "; --bound x must be" in message


def test_bounds_of_a_flag_leave_those_of_other_genes():
    """One bound on the command line does not undo the table of a file."""
    file = {"bounds": {"a": [1.0, 2.0], "b": [3.0, 4.0]}, "seed": 1}
    assert overlaid(file, {"bounds": {"b": [5.0, 6.0]}}) == {
        "bounds": {"a": [1.0, 2.0], "b": [5.0, 6.0]},
        "seed": 1,
    }


@each("name", RunConfig.model_fields)
def test_every_knob_says_what_it_is_and_what_it_takes(name):
    """Help, errors and the printed configuration are made from the field."""
    field = RunConfig.model_fields[name]
    assert field.description.endswith(".")
    assert read_schema_extra(field, "decides") in get_args(Decides)
    assert describe_allowed_values(name)
    assert "None" not in describe_allowed_values(name)


def test_every_knob_is_of_one_group():
    """Groups follow each other, and none repeats what another has."""
    groups = reversed(RunConfig.__bases__)
    assert [name for group in groups for name in group.model_fields] == list(RunConfig.model_fields)
    assert next(iter(RunConfig.model_fields)) == "data"


def test_the_default_configuration_names_every_knob():
    """What ``config`` prints is a file in which every knob can be changed."""
    lines = to_toml(RunConfig()).splitlines()
    for name in RunConfig.model_fields:
        assert any(
            line.removeprefix("# ").startswith((f"{name} = ", f"[{name}]")) for line in lines
        )


@given(
    data=st.text(st.characters(exclude_categories=["Cs"])),
    tz=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    fee_bp=st.floats(0, 10_000),
    seed=st.integers(0, 2**63 - 1),
    dedupe=st.booleans(),
    bounds=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        max_size=3,
    ),
)
def test_a_configuration_survives_toml(tmp_path_factory, **values):
    """Written and read back it is equal, whatever text and numbers it holds."""
    config = RunConfig(**values)
    path = write(tmp_path_factory.mktemp("toml"), to_toml(config))
    assert resolve_config(path, {}) == config
