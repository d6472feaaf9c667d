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
    resolve_config,
    to_toml,
)
from optimizer.config.values import Decides, format_bytes, parse_bytes, read_schema_extra
from optimizer.errors import ConfigError
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.store.log_file import KEEPS
from tests.support.looping import each


def write(folder, content):
    """A TOML file of text or bytes."""
    path = Path(folder) / "run.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_defaults_and_choices_are_those_of_the_parts_that_they_reach():
    """A part used alone behaves as it does under the command line."""
    config = RunConfig()
    assert Costs(config.fee_bp, config.slippage_bp, config.min_risk, config.risk_fraction) == (
        Costs()
    )
    assert config.memory is None
    assert config.max_bytes == LARGEST_SOURCE_BYTES
    assert config.min_trades == Goals(parse_objectives(config.objectives)).min_trades
    assert describe_allowed_values("keep") == f"one of {', '.join(KEEPS)}"


WRONG = [
    *(("bounds", value) for value in (3, {"a": [1]}, {"a": [1, 2, 3]}, {"a": [1, True]})),
    ("steps", 3), ("steps", {"a": "1"}), ("population", "x" * 10_000),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_by_its_key_and_not_repeated_whole(name, value):
    """Whatever a file or a program gives that no flag can."""
    with pytest.raises(ConfigError, match=f"^here: {name}") as caught:
        make_config({name: value}, where="here")
    assert len(str(caught.value)) < 250


@given(count=st.integers(0, 10**15 - 1))
def test_amounts_are_written_so_that_they_read_back(count):
    """No digit is lost for the sake of a unit."""
    assert parse_bytes(format_bytes(count)) == count


@each("name", RunConfig.model_fields)
def test_every_knob_says_what_it_is_and_what_it_takes(name):
    """Help, errors and the printed configuration are made from the field."""
    field = RunConfig.model_fields[name]
    assert field.description.endswith(".")
    assert read_schema_extra(field, "decides") in get_args(Decides)
    assert describe_allowed_values(name)
    assert "None" not in describe_allowed_values(name)
    lines = [line.removeprefix("# ") for line in to_toml(RunConfig()).splitlines()]
    assert any(line.startswith((f"{name} = ", f"[{name}]")) for line in lines)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    data=TEXT,
    tz=st.none() | TEXT,
    fee_bp=st.floats(0, 10_000),
    seed=st.integers(0, 2**63 - 1),
    dedupe=st.booleans(),
    bounds=st.dictionaries(
        TEXT,
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        max_size=3,
    ),
)
def test_a_configuration_survives_toml(tmp_path_factory, **values):
    """Written and read back it is equal, whatever text and numbers it holds."""
    config = RunConfig(**values)
    path = write(tmp_path_factory.mktemp("toml"), to_toml(config))
    assert resolve_config(path, {}) == config
