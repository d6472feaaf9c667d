"""Pairs of individual and window: the bits of the whole product, in any grouping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.bars import Window
from engine.accounts.costs import Costs
from engine.batch import Engine
from engine.groups import Group, evaluate_groups
from engine.out_of_core import create_engine
from tests.support.parity import assert_same_bits
from tests.support.random_strategies import drawn_strategy
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPECS = (SHORT_SPECS["seller_exhaustion"], drawn_strategy(4))
NAMES = ("shipped", "drawn")

SERIES = [make_bars(seed, 300 + 40 * seed) for seed in range(3)]
WINDOWS = [Window(1, 0, 340), Window(0, 20, 300), Window(2, 0, 200), Window(2, 150, 380)]
N_INDIVIDUALS = 9
EVERY = [(p, w) for p in range(N_INDIVIDUALS) for w in range(len(WINDOWS))]


def draw_genomes(spec):
    """As many as pairs name."""
    return random_genomes(spec, N_INDIVIDUALS, seed=2)


@pytest.fixture(scope="module", params=SPECS, ids=NAMES)
def engines(request):
    """The product of all, an engine of all series, and one whose series are apart."""
    spec = request.param
    engine = Engine(spec, SERIES, WINDOWS, device="cpu")
    apart = create_engine(spec, SERIES, WINDOWS, device="cpu", apart=1)
    together = create_engine(spec, SERIES, WINDOWS, device="cpu", apart=2)
    assert (apart.n_parts, together.n_parts) == (3, 2)
    return engine.evaluate(draw_genomes(spec)), engine, apart, together


@given(pairs=st.lists(st.sampled_from(EVERY), max_size=60), cut=st.integers(0, 60))
def test_any_grouping_has_the_same_bits(engines, pairs, cut):
    """Any pairs, in any order, some of them twice, at once or in two calls."""
    product, *ways = engines
    pairs = np.array(pairs, np.int64).reshape(-1, 2)
    expected = product[pairs[:, 0], pairs[:, 1]]
    for engine in ways:
        genomes = draw_genomes(engine.spec)
        assert_same_bits(expected, engine.evaluate_pairs(genomes, pairs), "pairs")
        parts = [engine.evaluate_pairs(genomes, some) for some in (pairs[:cut], pairs[cut:])]
        assert_same_bits(expected, np.concatenate(parts), "in two calls")


def test_other_windows_and_costs_are_not_mistaken_for_these():
    """What is kept for the next pairs and groups is that of the same windows and costs."""
    spec, pairs = SPECS[0], np.array([[0, 0], [3, 0], [5, 1]])
    charged, genomes = Costs(fee_bp=30.0), draw_genomes(SPECS[0])
    both = [Group(genomes, (0, 1), False)]
    for apart in (0, 1):
        engine = create_engine(spec, SERIES, WINDOWS, device="cpu", apart=apart)
        engine.evaluate_pairs(genomes, pairs)
        evaluate_groups(engine, both)
        for other in (engine.on(WINDOWS[2:]), engine.with_costs(charged)):
            product = other.evaluate(genomes)
            expected = product[pairs[:, 0], pairs[:, 1]]
            assert_same_bits(expected, other.evaluate_pairs(genomes, pairs), "other")
            ((answer, _),) = evaluate_groups(other, both)
            assert_same_bits(product[:, :2], answer, "other groups")


@settings(max_examples=8)
@given(
    groups=st.lists(
        st.tuples(
            st.lists(st.integers(0, N_INDIVIDUALS - 1), min_size=1, max_size=9),
            st.lists(st.integers(0, len(WINDOWS) - 1), min_size=1, max_size=4, unique=True),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_groups_have_the_bits_of_an_engine_of_their_own(engines, groups):
    """Windows in any order, with and without an account of them; neighbours change nothing."""
    _, *ways = engines
    for engine in ways:
        genomes = draw_genomes(engine.spec)
        asked = [Group(genomes[members], windows, pools) for members, windows, pools in groups]
        answers = evaluate_groups(engine, asked)
        for group, (accumulators, account) in zip(asked, answers, strict=True):
            windows = [WINDOWS[w] for w in group.windows]
            alone = Engine(engine.spec, SERIES, windows, device="cpu")
            expected, together = alone.evaluate_account(group.genomes)
            assert_same_bits(expected, accumulators, "of windows")
            assert accumulators.flags.c_contiguous
            assert (account is None) == (not group.is_account)
            if account is not None:
                assert_same_bits(together, account, "of the account")
