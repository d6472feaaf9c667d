"""How operators share a generation, and what children say of their origin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.search.breeding import ADAPTED, compute_rates, shares, update_credits
from optimizer.search.generation import OPERATORS, UNKNOWN
from tests.support.searches import Analytic, Zdt1, evolve, float_layout, int_layout, settings


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 500), st.floats(0, 0.999))
def test_shares_divide_all_and_nothing_more(credits, count, offset):
    """Each part is its rate times the count, rounded down or up, and parts add up."""
    rates = compute_rates(credits)
    parts = shares(rates, count, offset)
    assert sum(parts) == count
    assert all(abs(part - rate * count) < 2.0 for part, rate in zip(parts, rates, strict=True))


def test_credit_moves_towards_what_was_admitted():
    """Of an operator's children half were admitted: its credit goes an eighth of the way."""
    made = {"cross": 2, "mutate": 1, "immigrate": 1}
    tried = [made.get(name, 0) for name in OPERATORS]
    credits = update_credits(
        (1.0,) * len(ADAPTED), tried, [int(name == "cross") for name in OPERATORS]
    )
    after = dict(zip(ADAPTED, credits, strict=True))
    assert after == {"cross": 0.9375, "exchange": 1.0, "difference": 1.0, "mutate": 0.875}


PROBLEMS = {"real": Zdt1(float_layout(5)), "whole": Analytic(int_layout((1, 20), (1, 20)))}
"""Genomes that are never drawn twice, and such that often are, in whose place others come."""


@pytest.mark.parametrize("name", PROBLEMS)
def test_lineage_leads_back_to_the_first_generation(name):
    """Serials are unique and rise; parents were judged before their children."""
    generations = list(evolve(PROBLEMS[name], settings(16, 12)))
    born = {}
    for generation in generations:
        for serial, mother, father, code in generation.population.lineage.tolist():
            born.setdefault(serial, (generation.number, mother, father, code))
    assert set(born) <= set(range(16 * 13))
    for serial, (number, mother, father, code) in born.items():
        assert serial // 16 == number
        assert mother < 16 * number
        assert father < 16 * number
        if OPERATORS[code] in ("cross", "exchange"):
            assert min(mother, father) >= 0
        if OPERATORS[code] in ("sample", "published", "immigrate"):
            assert mother == father == UNKNOWN
    kinds = {OPERATORS[code] for _, _, _, code in born.values()}
    assert {*ADAPTED, "sample", *["immigrate"] * (name == "whole")} <= kinds
