"""What the searches are compared on: functions with known fronts, and strategies on real bars."""

import importlib.util
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from data import LoadOptions, Window, load_bars
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.generation import Evaluation, Floats
from strategy import STRATEGIES, Gene, GenomeLayout

REAL = ("btcusdt_1h", "uniusdt_15m", "gbpjpy_1h")
FUNCTIONS = ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6", "dtlz1", "dtlz2", "dtlz3", "dtlz5", "dtlz7")
OBJECTIVES = "sharpe_trade,total_return,max_drawdown"
MIN_TRADES = 30
NAMES = (*REAL, *FUNCTIONS)


@dataclass
class Function:
    """A test function as a problem; everything is feasible.

    Sources: Zitzler, Deb, Thiele, "Comparison of multiobjective evolutionary algorithms", 2000;
    Deb, Thiele, Laumanns, Zitzler, "Scalable test problems", 2005.
    """

    name: str  # one of `FUNCTIONS`
    failure_names: tuple[str, ...] = ("", "failed")
    seen: list[Floats] = field(default_factory=list)  # objectives of everything that was evaluated

    def __post_init__(self) -> None:
        n_genes = {"zdt4": 10, "zdt6": 10, "dtlz1": 7, "dtlz7": 22}.get(self.name, 30)
        if self.name in ("dtlz2", "dtlz3", "dtlz5"):
            n_genes = 12
        genes = [Gene(f"x{i}", "float", 0.0, 1.0, 0.5) for i in range(n_genes)]
        if self.name == "zdt4":
            genes[1:] = [replace(gene, low=-5.0, high=5.0, default=2.5) for gene in genes[1:]]
        self.layout = GenomeLayout(tuple(genes))
        self.n_objectives = 2 if self.name.startswith("zdt") else 3

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]."""
        compute = _zdt if self.name.startswith("zdt") else _dtlz
        objectives = compute(self.name, genomes)
        self.seen.append(objectives)
        nothing = np.zeros(len(genomes))
        return Evaluation(objectives, nothing, nothing.astype(np.int16))


class Market:
    """Seller exhaustion on a real series, with the objectives and costs of the defaults.

    Args:
        name: One of `REAL`, a file in the folder of real series.
        folder: Where they lie.
        threads: Of the engine.
    """

    def __init__(self, name: str, folder: Path, threads: int = 1) -> None:
        bars = _bars(folder / f"{name}.parquet")
        spec = STRATEGIES["seller_exhaustion"].for_timeframe(bars.timeframe_ns / 1e9)
        self.name, self.layout = name, spec.layout
        self.goals = Goals(parse_objectives(OBJECTIVES), min_trades=MIN_TRADES)
        self.n_objectives, self.failure_names = 3, self.goals.failure_names
        window = Window.whole(bars)
        self.engine = Engine(spec, [bars], [window], device="cpu", threads=threads)
        self.span = measure_span(bars, window)
        self.seen: list[Floats] = []

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]."""
        judged = self.goals.judge(compute_metrics(self.engine.evaluate(genomes), [self.span]))
        self.seen.append(np.where(judged.violations[:, None] > 0, np.nan, judged.objectives))
        return judged


class RealWorld:
    """A problem of the RE suite, of a file that is no part of the project because of its licence.

    Args:
        name: Such as ``re21``, or ``cre21`` with constraints.
        file: Their `reproblem.py`.

    Source: Tanabe, Ishibuchi, "An easy-to-use real-world multi-objective optimization problem
    suite", 2020.
    """

    def __init__(self, name: str, file: Path) -> None:
        self.name, self._theirs = name, getattr(load_suite(file), name.upper())()
        bounds = zip(self._theirs.lbound, self._theirs.ubound, strict=True)
        genes = [
            Gene(f"x{i}", "float", float(low), float(high), float(low + high) / 2)
            for i, (low, high) in enumerate(bounds)
        ]
        self.layout, self.n_objectives = GenomeLayout(tuple(genes)), self._theirs.n_objectives
        self.failure_names: tuple[str, ...] = ("", "failed", "violated")
        self.seen: list[Floats] = []

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]; what violates a constraint is as bad as by how much."""
        answers = [self._theirs.evaluate(genome.copy()) for genome in genomes]
        violations = np.zeros(len(genomes))
        if self.name.startswith("cre"):
            violations = np.array([broken.sum() for _, broken in answers])
            answers = [values for values, _ in answers]
        objectives = np.array(answers)
        self.seen.append(np.where(violations[:, None] > 0, np.nan, objectives))
        return Evaluation(objectives, violations, np.where(violations > 0, 2, 0).astype(np.int16))


RE_SUITE = (
    *(f"re{n}" for n in (21, 22, 23, 24, 25, 31, 32, 33, 34, 35, 36, 37, 41, 42, 61, 91)),
    *(f"cre{n}" for n in (21, 22, 23, 24, 25, 31, 32, 51)),
)


@cache
def load_suite(file: Path) -> ModuleType:
    """Their module."""
    spec = importlib.util.spec_from_file_location("reproblem", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_problem(
    name: str, folder: Path, suite: Path | None = None
) -> Function | Market | RealWorld:
    """A fresh problem of that name, which has seen nothing."""
    if name in RE_SUITE:
        return RealWorld(name, suite)
    return Market(name, folder) if name in REAL else Function(name)


@cache
def _bars(path: Path):
    return load_bars(f"parquet:{path}", LoadOptions(dedupe=True))


def _zdt(name: str, x: Floats) -> Floats:
    first, rest = x[:, 0], x[:, 1:]
    g = 1.0 + 9.0 * rest.mean(axis=1)
    if name == "zdt4":
        g = 1.0 + 10.0 * rest.shape[1] + (rest**2 - 10.0 * np.cos(4 * np.pi * rest)).sum(axis=1)
    if name == "zdt6":
        first = 1.0 - np.exp(-4.0 * x[:, 0]) * np.sin(6 * np.pi * x[:, 0]) ** 6
        g = 1.0 + 9.0 * rest.mean(axis=1) ** 0.25
    ratio = first / g
    shape = 1.0 - ratio**2 if name in ("zdt2", "zdt6") else 1.0 - np.sqrt(ratio)
    if name == "zdt3":
        shape = shape - ratio * np.sin(10 * np.pi * first)
    return np.stack([first, g * shape], axis=1)


def _dtlz(name: str, x: Floats) -> Floats:
    place, tail = x[:, :2], x[:, 2:]
    g = ((tail - 0.5) ** 2).sum(axis=1)
    if name in ("dtlz1", "dtlz3"):
        waves = ((tail - 0.5) ** 2 - np.cos(20 * np.pi * (tail - 0.5))).sum(axis=1)
        g = 100.0 * (tail.shape[1] + waves)
    if name == "dtlz1":
        a, b = place.T
        shapes = [a * b, a * (1.0 - b), 1.0 - a]
        return np.stack([0.5 * s * (1.0 + g) for s in shapes], axis=1)
    if name == "dtlz7":
        g = 1.0 + 9.0 * tail.mean(axis=1)
        h = 3.0 - (place / (1.0 + g[:, None]) * (1.0 + np.sin(3 * np.pi * place))).sum(axis=1)
        return np.column_stack([place, (1.0 + g) * h])
    a, b = (place * 0.5 * np.pi).T
    if name == "dtlz5":
        b = (1.0 + 2.0 * g * place[:, 1]) / (2.0 * (1.0 + g)) * 0.5 * np.pi
    shapes = [np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)]
    return np.stack([s * (1.0 + g) for s in shapes], axis=1)
