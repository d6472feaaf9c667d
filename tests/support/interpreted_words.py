"""Strategies in words on the CUDA backend under Triton's interpreter, against the CPU.

    python -m tests.support.interpreted_words cpu [PART ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without parts it compares all. Prints what it compared; ends with an assertion where
bits differ.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.conditions.cuda import specialization
from engine.conditions.cuda.expression_vm import OPERATIONS, ROW, Formulas
from engine.cuda import accounts, captured
from engine.cuda.accounts import SeriesPart, WindowGroup, WordAccounts
from engine.cuda.batch_inputs import SentInputs
from engine.cuda.language import CudaLanguageBackend, CudaLanguageMaker
from engine.cuda.ordering import lay_out_series
from engine.cuda.word_signals import BatchInputs, IndividualInputs
from engine.cuda.workspace import Outcomes
from engine.devices import Device
from engine.indicators.cuda import trends
from engine.indicators.cuda.market import upload_prices
from engine.memory_plan import WORD_SHARES
from engine.positions.cuda.trades import choose_kernel
from engine.positions.exit_spec import BEYOND_BAR, FROM_ENTRY, LEVEL, NONE
from engine.replay.parity import compare_ledgers
from engine.runtime.compiling.launch import launch
from strategy import words
from strategy.expressions import Arithmetic, GeneValue, Number
from strategy.files import build_strategies
from strategy.gene import Gene
from strategy.genes import GenomeLayout
from tests.support.aligned import MOODY, moody_bars
from tests.support.finer import make_coarse, open_apart
from tests.support.interpreter import repeat_nothing
from tests.support.parity import assert_same_accounts, assert_same_bits
from tests.support.positions import asks, build_population, by_cpu, jumping
from tests.support.random_strategies import drawn_strategy
from tests.support.worlds import costs, draw_window, make_bars, random_genomes

HOST = torch.device("cpu")

EXAMPLES = Path(__file__).with_name("examples.py")

EXAMPLE = {one.name: one for one in build_strategies(EXAMPLES.read_text(), str(EXAMPLES)).values()}
"""The strategies of the examples by name."""

DRAWN = (0, 3, 4, 8, 15, 21, 22, 24, 29, 32)
"""Seeds of strategies that end positions in every way, some of them with stops that move."""

OF_OTHERS = ("exits_reverse", "orders", "expired", "partials", "unsized", "coarse", "skipped",
             "max_leverage")  # fmt: skip
"""Accumulators of orders, money, finer bars and limits."""

WORLDS = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


class InterpretedMaker(CudaLanguageMaker):
    """Makes the backend on tensors in host memory."""

    def __init__(self):
        """There is one device."""
        super().__init__((0,))

    def __call__(self, *arguments, **options):
        """Take what the engine gives, on the host."""
        return CudaLanguageBackend(*arguments, torch_device="cpu", **options)

    def free_bytes(self):
        """As much as a small world needs."""
        return 2**28


class LimitedMaker(InterpretedMaker):
    """The same of accounts with limits."""

    keeps_limits = True


INTERPRETED = Device("interpreted", "a test", InterpretedMaker())

LIMITED = Device("interpreted", "a test", LimitedMaker())


def assert_same_everywhere(strategy, genomes, series, windows, charges=None, **options):
    """Accumulators, ledgers and signals in every bit; gives the accumulators."""
    host = Engine(strategy, series, windows, charges, device="cpu")
    chosen = LIMITED if charges is not None and charges.has_limits else INTERPRETED
    device = Engine(strategy, series, windows, charges, device=chosen, **options)
    expected = host.evaluate(genomes)
    assert_same_bits(expected, device.evaluate(genomes), strategy.name)
    for genome, left, right in zip(
        genomes, host.ledgers(genomes), device.ledgers(genomes), strict=True
    ):
        assert_same_ledgers(left, right, strategy.name)
        for bars, actual in zip(host.signals(genome), device.signals(genome), strict=True):
            assert_same_bits(bars, actual, "signals")
    return expected


def assert_same_ledgers(expected, actual, what):
    """All columns in every bit."""
    for left, right in zip(expected, actual, strict=True):
        problem = compare_ledgers(left, right)
        assert not problem, f"{what}: {problem}"
        for name, column in left.columns().items():
            assert_same_bits(column, right.columns()[name], f"{what}: {name}")


def population(strategy, count, seed):
    """The default genes, then random ones."""
    defaults = strategy.layout.defaults[None]
    if not len(strategy.layout):
        return defaults
    return np.concatenate([defaults, random_genomes(strategy, count - 1, seed)])


def compare_example(name):
    """An example, on two series in three windows; memory for one row more than it needs."""
    series = [make_bars(17, 1100, jump=0.02, gaps=0.02), make_bars(4, 300, flat=0.1)]
    windows = [Window.whole(series[0]), Window(0, 700, 1010), Window(1, 20, 300)]
    genomes = population(EXAMPLE[name], 2, seed=2)
    ledgers = assert_same_everywhere(EXAMPLE[name], genomes, series, windows)
    trades = ledgers[:, :, 0].sum()
    assert trades > 0, "nothing was compared"
    print(f"{name}: {trades:.0f} trades, every bit equal")


def compare_drawn():
    """Any strategy of the language, on short bars."""
    series = [make_bars(11, 200, gaps=0.01, flat=0.02), make_bars(12, 64, tick=0.5)]
    windows = [Window.whole(series[0]), Window(0, 50, 190), Window.whole(series[1], 1)]
    sums = np.zeros(len(ACCUMULATOR_INDEX))
    for seed in DRAWN:
        strategy = drawn_strategy(seed)
        charges = Costs(min_risk=0.001, risk_fraction=0.9, entry_delay=seed % 3)
        genomes = population(strategy, 2, seed)
        ledgers = assert_same_everywhere(strategy, genomes, series, windows, charges)
        sums += ledgers.sum(axis=(0, 1))
        if seed == DRAWN[0]:
            engines = [
                Engine(strategy, series, windows, charges, device=device)
                for device in ("cpu", INTERPRETED)
            ]
            assert_same_accounts(*engines, genomes)
            assert ledgers[:, :, ACCUMULATOR_INDEX["shorts"]].any(), "no side was compared"
    for name, index in ACCUMULATOR_INDEX.items():
        assert sums[index] != 0 or name in OF_OTHERS, f"{name} was not compared"
    print(f"drawn: {sums[0]:.0f} trades, every bit equal")


def compare_memory():
    """Few rows, few conditions and few lists at a time, and out of memory, change no bit."""
    strategy, bars = EXAMPLE["donchian_trail"], make_bars(3, 300)
    windows = [Window.whole(bars), Window(0, 60, 250)]
    genomes = population(strategy, 9, seed=4)
    expected = Engine(strategy, [bars], windows, device="cpu").evaluate(genomes)
    # Room for seven rows: two that all read, and two of each channel.
    room = INTERPRETED.maker.series_bytes([bars]) + WORD_SHARES * 7 * 8 * len(bars)
    crowded = Engine(strategy, [bars], windows, device=INTERPRETED, memory_bytes=room)
    crowded._backend._calls._most_bytes = 2**20
    assert_same_bits(expected, crowded.evaluate(genomes), "few at a time")
    assert crowded._backend._calls._most < len(genomes)
    seen, original = [], WordAccounts.run

    def failing(self, group, sent, room, *arguments, **options):
        seen.append(room)
        if len(seen) < 4:
            raise torch.OutOfMemoryError("injected")
        return original(self, group, sent, room, *arguments, **options)

    WordAccounts.run = failing
    full = Engine(strategy, [bars], windows, device=INTERPRETED)
    assert_same_bits(expected, full.evaluate(genomes), "after running out of memory")
    assert seen[:4] == [10, 4, 2, 1], seen
    WordAccounts.run = original
    host = Engine(strategy, [bars], windows, device="cpu")
    assert_same_accounts(host, full, genomes[:3])
    assert_same_accounts(host, crowded, genomes)
    print("memory: every bit equal")


def compare_trends():
    """Rows that are made on the device beside those of the host, of both forms."""
    trends.SEGMENT, trends.UNROLL, trends.TILE = 16, 4, 8
    lengths = (words.length("base", 9, 9, 10), *(9,) * 5)
    up = words.adaptive_trend(*lengths)
    strategy = words.strategy(
        "Follows one form of the trend, and leaves with the other.",
        long=(up > 0) & (words.close > words.sma(words.close, 3)),
        exit_long=words.adaptive_trend_script(*lengths) < 0,
        stop=words.beyond_bar(3 * words.atr(5)),
        name="trends",
    )
    bars = make_bars(3, 40)
    genomes = np.array([[9.0], [10.0]])
    ledgers = assert_same_everywhere(strategy, genomes, [bars], [Window.whole(bars)])
    assert ledgers[:, :, 0].sum() > 0, "nothing was compared"
    print(f"trends: {ledgers[:, :, 0].sum():.0f} trades, every bit equal")
    prices = {name: getattr(bars, name) * 1e305 for name in ("open", "high", "low", "close")}
    huge = replace(bars, **prices)
    assert_same_everywhere(strategy, genomes[:1], [huge], [Window.whole(huge)])


def compare_forms():
    """Kernels of their own give the bits of the one that takes formulas as data."""
    rng = np.random.default_rng(5)
    layout = GenomeLayout(tuple(Gene(name, "float", -9.0, 9.0, 1.0) for name in "xy"))
    specialization.PAYS_AFTER = 0
    for number in range(FORMS):
        formulas, decider = Formulas(layout), specialization.Comparing()
        relation, ago = number % 4, (0, 1, 70)[number % 3]
        spans = [formulas.span(tree(layout, rng, 3)) for _ in range(2)]
        left, right = map(formulas.form, spans)
        arguments = whole([*spans[0], *spans[1], relation, ago])
        n_rows = max(len(formulas.rows), 1)
        read = specialization.Read(
            whole([*formulas.code, 0, 0]),
            torch.tensor([*formulas.constants, 0.0], dtype=torch.float64),
            torch.from_numpy(rng.choice(AWKWARD, (3, 2))),
            whole(rng.integers(0, 5, (3, n_rows))),
            torch.from_numpy(rng.choice(AWKWARD, (5, 130)) * rng.choice([1, 1, 0.3], (5, 130))),
            whole([3, 0, 2, 1]),
            130,
        )
        arrays = [torch.full((3, 3), -1, dtype=torch.int64) for _ in range(2)]
        comparison = specialization.CodedComparison(arguments, left, right, relation)
        assert decider.count(comparison, 130, 3)
        for words_of in arrays:
            decider.decide(comparison, read, words_of)
        assert not decider.count(comparison, 130, 3)
        assert list(decider._is_equal.values()) == [True], (left, right, relation)
        assert torch.equal(*arrays), (left, right, relation)
    print(f"forms: {FORMS} comparisons, every bit equal")


FORMS = 24

AWKWARD = (0.0, -0.0, 1.0, -2.5, 3.0, 1e-320, 1e308, -1e308, np.inf, -np.inf, np.nan, 0.1)


def tree(layout, rng, depth):
    """An expression of genes, numbers, rows and what joins them."""
    if depth == 0 or rng.random() < 0.15:
        leaves = [*map(GeneValue, layout.genes), Number(0.0), Number(2.5)]
        leaves += [term.tree for term in (words.close, words.high, words.volume)]
        return leaves[rng.integers(len(leaves))]
    operation = str(rng.choice(sorted(OPERATIONS)))
    below = [tree(layout, rng, depth - 1) for _ in range(2)]
    return Arithmetic(operation, below[0], None if operation == "abs" else below[1])


@WORLDS
@given(data=st.data(), seed=st.integers(0, 2**32), charged=costs())
def compare_asks(data, seed, charged):
    """Any mixture of forms, conditions, sessions and delays, in windows from one bar on."""
    bars = jumping(make_bars(seed, 64 + seed % 137, gaps=0.02, flat=0.05), seed)
    given_asks = data.draw(asks(bars, most=2))
    actual = [data.draw(draw_window(bars)) for _ in range(2)]
    windows = np.array([(window.start, window.end) for window in actual], np.int64)
    expected, listed = by_cpu(bars, given_asks, charged, windows)
    charges = np.array([charged.per_side, charged.min_risk, charged.risk_fraction])
    prices, axis = upload_prices(bars, HOST), lay_out_series([bars], HOST)
    device = WordAccounts([prices], axis, charges, HOST)
    placed = np.column_stack((np.arange(len(windows)), windows))
    table = np.column_stack((np.zeros(len(windows), int), windows))
    group = WindowGroup(placed[:, 0], [SeriesPart(0, placed)], table)
    asked, each = on_device(*build_population(bars, given_asks))
    sent = [SentInputs(asked, each, whole(placed), whole(table))]
    outcomes = Outcomes(len(each.bars) * len(windows), 0, HOST)
    lists = device.run(group, sent, len(each.bars), 208, outcomes, keeps=True)
    actual = outcomes.results.view(expected.shape).numpy()
    assert_same_bits(expected, actual, "accumulators")
    delays = each.bars[:, 1].numpy().astype(np.int64)
    for left, right in zip(listed, device.build_ledgers(group, lists, actual, delays), strict=True):
        assert_same_ledgers(left, right, "ledgers")
    SEEN.append(expected[:, :, 0].sum())


SEEN = []
"""Trades of each world."""


def on_device(asked, rows, read):
    """What individuals ask of the CPU, as the device takes it: each form reads a row of its own."""
    words = torch.from_numpy(asked.words.view(np.int64))
    reads = [[READS(form, 2 * k + side) for side, form in enumerate(pair)]
             for k, pair in enumerate(asked.forms.tolist())]  # fmt: skip
    p = len(asked.delay)
    bars = np.stack([asked.max_hold, asked.delay, asked.warm_up], 1)
    return BatchInputs(
        longs=words,
        shorts=words,
        leaves=words,
        following=find_following(asked.words),
        sessions=whole(np.minimum(asked.sessions, 0x7FFFFFFE)),
        forms=whole(asked.forms),
        reads=whole(reads),
        code=whole([number for k in range(6) for number in (ROW, k)]),
        constants=torch.zeros(1, dtype=torch.float64),
        rows=torch.from_numpy(np.vstack([rows, np.zeros(rows.shape[1])])),
        moves=bool((asked.forms[2] != NONE).any() or not np.isnan(asked.break_even).all()),
    ), IndividualInputs(
        size=whole([p]),
        entries=whole(asked.entries),
        exits=whole(asked.exits),
        # A form that reads nothing is never asked for its row.
        slots=whole(np.maximum(read.reshape(p, 6), 0)),
        genomes=torch.zeros((p, 1), dtype=torch.float64),
        numbers=torch.from_numpy(
            np.column_stack(
                (asked.numbers.reshape(p, 2, 4).transpose(0, 2, 1).reshape(p, 8), asked.break_even)
            )
        ),
        bars=whole(bars),
        session_of=whole(asked.session_of),
    )


def READS(form, k):  # noqa: N802
    """Where the formula of a form stands."""
    return (k, k + 1) if form in (BEYOND_BAR, FROM_ENTRY, LEVEL) else (0, 0)


def find_following(words):
    """For each word the first from there on that is not 0; how many words there are without one."""
    count = words.shape[1]
    indices = np.where(words == 0, count, np.arange(count))
    padded = np.pad(indices, ((0, 0), (0, 1)), constant_values=count)
    return whole(np.minimum.accumulate(padded[:, ::-1], axis=1)[:, ::-1])


def whole(numbers):
    """As the device takes them."""
    return torch.from_numpy(np.ascontiguousarray(numbers, np.int32))


def compare_positions():
    """Positions of both sides, from all askers."""
    compare_asks()
    print(f"positions: {sum(SEEN):.0f} trades, every bit equal")
    assert sum(trades > 2 for trades in SEEN) > len(SEEN) / 3, SEEN


def compare_aligned():
    """A strategy that reads a column of the bars' own file."""
    series = [moody_bars(17, 130), moody_bars(4, 40)]
    windows = [Window(0, 10, 130), Window.whole(series[1], 1)]
    ledgers = assert_same_everywhere(MOODY, population(MOODY, 2, seed=2), series, windows)
    trades = ledgers[:, :, 0].sum()
    assert trades > 20, "nothing was compared"
    print(f"aligned: {trades:.0f} trades, every bit equal")


NEAR = {
    "long": words.close > words.open,
    "short": words.close < words.open,
    "stop": words.from_entry(words.gene("far", 0.5, 0.2, 1.5) * words.rma(words.true_range, 3)),
}
"""Stops so near that many trades hang on the order of what happened in a bar."""

RESTING = {
    "exit_long": words.close < words.open,
    "exit_short": words.close > words.open,
    "target": words.r_multiple(1.2),
    "max_hold": 3,
}

MOVING = {
    "target": words.r_multiple(2),
    "trail": words.trail(words.from_entry(2 * words.rma(words.true_range, 3)), 1),
    "break_even": 0.7,
}
"""Held so long that some lanes wait for an exit while others end."""


def compare_finer():
    """Bars that are read by finer ones, where stops rest and where they move."""
    quarters = open_apart(make_bars(2, 200, gaps=0.02, flat=0.05, jump=0.05), 2)
    series = [make_coarse(quarters, 2), make_bars(4, 40, tick=0.25)]
    windows, trades = [Window.whole(series[0]), Window.whole(series[1], 1)], 0
    whole = [replace(series[0], finer=None), series[1]]
    for delay, moves in enumerate((RESTING, MOVING)):
        strategy = words.strategy("Near.", name="near", **NEAR, **moves)
        genomes, charges = population(strategy, 3, seed=2), Costs(entry_delay=delay)
        sums = assert_same_everywhere(strategy, genomes, series, windows, charges)
        coarse = Engine(strategy, whole, windows, charges, device="cpu").evaluate(genomes)
        for name in ("exits_stop_gap", "exits_stop", "coarse"):
            place = ACCUMULATOR_INDEX[name]
            assert sums[:, 0, place].sum() != coarse[:, 0, place].sum(), f"{name} is the same"
        trades += sums[:, :, 0].sum()
    print(f"finer: {trades:.0f} trades, every bit equal")


def compare_ties():
    """Trades of one window that end in one bar, as an account of several windows has them."""
    up, down = words.close > words.open, words.close < words.open
    strategy = words.strategy(
        "Turns at each bar, with stops that are near.", long=up, short=down, exit_long=down,
        exit_short=up, stop=words.from_entry(0.3 * words.rma(words.true_range, 3)), name="ties",
    )  # fmt: skip
    series = [make_bars(3, 90, jump=0.02), make_bars(4, 80, jump=0.02)]
    windows = [Window.whole(series[0]), Window(1, 0, 40), Window(1, 40, 80)]
    host, device = (Engine(strategy, series, windows, device=one) for one in ("cpu", INTERPRETED))
    genomes = strategy.layout.defaults[None]
    assert_same_accounts(host, device, genomes)
    ties = [int((np.diff(ledger.exit_bar) == 0).sum()) for ledger in host.trades(genomes[0])]
    assert min(ties) > 0, "nothing was compared"
    print(f"ties: {ties}, every bit equal")


def compare_chains():
    """Positions that know the next: a warp takes those that one after the other would take."""
    rng, taken, capacity = np.random.default_rng(3), 0, 512
    counts = whole([0, 1, 3, 130, 300, 512, 700])
    size, shape = len(counts), (len(counts), capacity)
    for blocks in (1, 2, 4):
        # Seldom far, so that lanes that begin apart do not always meet at once.
        far = np.where(
            rng.random(shape) < 0.1, rng.integers(1, 90, shape), rng.integers(1, 4, shape)
        )
        nexts = np.full((size, 2 * capacity), -7)
        nexts[:, :capacity] = np.arange(capacity) + far
        leaves = np.where(rng.random(shape) < 0.2, -1, rng.integers(0, 999, shape))
        places, out = torch.full(shape, -1, dtype=torch.int32), torch.zeros((3, size)).int()
        launch(choose_kernel, (size,), whole([size - 1]), counts, whole(leaves), whole(leaves),
               whole(nexts), whole(nexts), whole([0]), whole([[0, 0, 0]] * size), places, *out, 1,
               capacity, warps=1, FINER=False, SIGNALS=32, BLOCKS=blocks, BLOCK=64)  # fmt: skip
        for pair, count in enumerate(np.minimum(counts[:-1], capacity).tolist()):
            place, met = 0, []
            while place < count:
                met.append(place)
                place = nexts[pair, place]
            expected = [place for place in met if leaves[pair, place] >= 0]
            assert places[pair, : len(expected)].tolist() == expected
            assert out[:2, pair].tolist() == [len(expected), len(met) - len(expected)]
            taken += len(expected)
        assert (places[-1] == -1).all(), "a pair that is not there"
    print(f"chains: {taken} signals taken, every bit equal")


PARTS = {
    "chains": compare_chains,
    "ties": compare_ties,
    "aligned": compare_aligned,
    "finer": compare_finer,
    "positions": compare_positions,
    "forms": compare_forms,
    "drawn": compare_drawn,
    "memory": compare_memory,
    "trends": compare_trends,
    **{name: (lambda name=name: compare_example(name)) for name in EXAMPLE},
}
"""What is compared."""


def main():
    """Compare what was asked for, with several programs a list and several blocks of words."""
    repeat_nothing()
    accounts.PROGRAMS, accounts.STRETCH, accounts.LANE_BARS = 16, 1, 1
    # Room for one individual that is not there.
    captured.bucket = lambda individuals: individuals + 1
    for name in sys.argv[2:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
