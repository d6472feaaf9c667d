"""Settings of a search check themselves."""

from dataclasses import replace

import pytest

from optimizer.errors import ConfigError
from tests.support.searches import settings

LEGAL = settings(population=1, generations=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("population", 0),
        ("population", -3),
        ("population", 2.5),
        ("population", True),
        ("generations", -1),
        ("generations", 1.0),
        ("seed", -1),
        ("seed", 2**63),
        ("crossover_probability", 1.1),
        ("crossover_probability", float("nan")),
        ("mutation_probability", -0.1),
        ("crossover_eta", 20),
        ("mutation_eta", 0),
    ],
)
def test_settings_out_of_range_are_refused(field, value):
    """The message names the setting and its value."""
    with pytest.raises(ConfigError, match=f"{field} must .* got {value!r}"):
        replace(LEGAL, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", 0),
        ("seed", 2**63 - 1),
        ("crossover_probability", 0.0),
        ("mutation_probability", 1.0),
        ("mutation_eta", 63),
    ],
)
def test_limits_are_legal(field, value):
    """The ends of each range can be used."""
    assert getattr(replace(LEGAL, **{field: value}), field) == value
