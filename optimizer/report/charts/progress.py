"""Charts of searches: a front that grew, genes over time, and a heat map of two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.checks import Ints
from engine.accounts.metrics import METRICS
from optimizer.errors import ConfigError
from optimizer.formatting import format_count, is_fraction, metric, number, words
from optimizer.goals.objectives import find_metric
from optimizer.report.charts import chart as draw
from optimizer.report.charts.chart import Chart, RunCharts, Trace
from optimizer.report.charts.front import PERCENT, metric_axis
from optimizer.report.schedule import collect_step_genes, require_schedule
from optimizer.report.tables import Tables
from optimizer.run.points import (
    MOST_VALUES,
    Grid,
    build_grid,
    count_needed,
    find_points,
    importance,
    measure_points,
    wants_more,
)
from optimizer.run.tables import recorded_individuals
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from strategy.errors import unknown

MOST_MEASURED = 2_000
"""Points of a lattice that a report evaluates: about a tenth of the time that it takes."""

MOST_JUDGED = 2_000
"""Candidates by which the two genes are chosen: more change nothing but the time."""

A_CELL, FEWEST_RANGES, MOST_RANGES = 10, 5, 20
"""Candidates a cell on average where genes have too many values to be shown each by itself, and
into how many ranges they are put then: smaller cells are mostly empty."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of a run and their values on the searched bars."""

    genomes: Floats  # [N, G]
    # [N] of one metric, in natural sign; NaN where it is undefined, and of infeasible ones,
    # such as those with too few trades: they are no choice.
    values: Floats
    # Whether they are points of a grid, which stand at few values of a gene.
    is_lattice: bool = False

    def grid(self, genes: tuple[int, int], *, maximise: bool) -> Grid:
        """The best of each cell over two genes; of a gene with many values in ranges."""
        ranges = min(max(int(np.sqrt(len(self.genomes) / A_CELL)), FEWEST_RANGES), MOST_RANGES)
        most = MOST_VALUES if self.is_lattice else ranges
        return build_grid(self.genomes, genes, self.values, maximise=maximise, most=most)


def is_lattice(run: Tables) -> bool:
    """True if a run judged every point of a grid."""
    return run.result is not None and run.result.search == "lattice"


def find_candidates(run: Tables, metric: str, most: int | None = None) -> Candidates:
    """Candidates on record with an objective, or evaluated anew with any other metric.

    Of a lattice at most so many points, a fixed sample; None for all.

    Raises:
        ConfigError: When there is no such metric, or there are too many points.
        DataError, StoreError: When the bars are needed and are gone or other ones.
    """
    if metric not in (*METRICS, *run.objectives):
        raise ConfigError(unknown("metric", metric, [*METRICS]))
    with RunStore.open(run.path) as store:
        if metric in run.objectives and not is_lattice(run):
            known = recorded_individuals(store).population
            values = run.header.natural(known.objectives)[:, run.objectives.index(metric)]
            return Candidates(known.genomes, np.where(known.violations == 0, values, np.nan))
        genomes = find_points(store, run.task, most)
    points = measure_points(run.task, genomes)
    if (base := find_metric(metric)) is not None:
        values = points.values[:, METRICS.index(base)]
    else:
        problem = run.task.problem(run.task.engine(device="cpu"))
        values = problem.measure_objectives(genomes)[:, run.objectives.index(metric)]
    is_feasible = [not why for why in points.failures]
    return Candidates(genomes, np.where(is_feasible, values, np.nan), is_lattice(run))


def choose_genes(
    candidates: Candidates, bounds: Floats, is_category: Sequence[bool]
) -> tuple[int, int] | None:
    """The two genes that explain most of the values, else vary most; None of fewer.

    `bounds` are [G, 2]; a category [G] has no order.
    """
    genomes = candidates.genomes
    free = np.flatnonzero(np.ptp(genomes, axis=0) > 0) if len(genomes) else np.empty(0, np.int64)
    if len(free) < 2:
        return None
    unordered = [is_category[gene] for gene in free.tolist()]
    shares = _measure_variance_shares(candidates, free, unordered)
    if shares is None:
        span = np.maximum(bounds[free, 1] - bounds[free, 0], np.finfo(np.float64).tiny)
        shares = genomes[:, free].std(axis=0) / span
    first, second = free[np.argsort(-shares, kind="stable")[:2]].tolist()
    return first, second


def _measure_variance_shares(
    candidates: Candidates, free: Ints, is_category: Sequence[bool]
) -> Floats | None:
    """Shares of variance that free genes explain alone; None where trials are too few."""
    known = np.flatnonzero(np.isfinite(candidates.values))
    if len(known) < count_needed(len(free)):
        return None
    count = min(len(known), MOST_JUDGED)
    known = known[np.arange(count) * len(known) // count]
    genomes = candidates.genomes[np.ix_(known, free)]
    if not (np.ptp(genomes, axis=0) > 0).all():
        return None
    return importance(genomes, candidates.values[known], is_category).alone


MOST_TICKS = 12
"""Values of a gene that an axis names each."""


def best_objective(generations: Ints, objective: str, best: Floats, median: Floats) -> Chart:
    """The best and the median value of an objective, generation by generation.

    `best` and `median` are [N] in natural sign; NaN without a feasible individual.
    """
    data = [
        draw.line(generations, best, draw.ORANGE, "best"),
        draw.line(generations, median, draw.GREY, "median of the population", 1),
    ]
    known = best[np.isfinite(best)]
    alt = f"no candidate with a defined {words(objective)}"
    if len(known):
        first, last = (metric(objective, float(known[i])) for i in (0, -1))
        alt = f"best {words(objective)} from {first} to {last}"
    title = f"best {words(objective)}"
    return draw.plane(title, alt, data, "generation", metric_axis(objective))


class SearchCharts(RunCharts):
    """Charts of a run's search."""

    def convergence(self, what: str = "hypervolume") -> Chart:
        """Hypervolume of the front, or the best of one objective, over the generations."""
        run, history = self._run, self._run.history
        if what == "hypervolume" and (history.volume > 0).any():
            return _draw_hypervolume(history.volume_generations, history.volume)
        names = ["hypervolume", *run.objectives]
        if what not in names:
            raise ConfigError(unknown("measure", what, names))
        # Without a volume the first objective is shown.
        place = max(names.index(what) - 1, 0)
        best, median = run.header.natural(history.best), run.header.natural(history.median)
        objective = run.objectives[place]
        return best_objective(history.generations, objective, best[:, place], median[:, place])

    def gene(self, gene: str) -> Chart:
        """How a gene spread over the population, generation by generation."""
        run, g = self._run, self._run.number_of_gene(gene)
        generations, quantiles = run.history.generations, run.history.quantiles[:, g]
        (low, high), final = run.bounds[g].tolist(), run.genomes[:, g]
        last = int(generations[-1]) if len(generations) else 0
        mark = {"symbol": "line-ew-open", "line": {"width": 2}, "color": draw.ORANGE, "size": 7}
        data = [
            *_bands(generations, quantiles),
            draw.line(generations, quantiles[:, 3], draw.BLUE, "median"),
            draw.scatter(
                "markers", np.full(len(final), last), final, name="final front", marker=mark
            ),
        ]
        margin, options = (high - low) * 0.04, run.header.options.get(gene, ())
        span = {"range": [low - margin, high + margin], "automargin": True}
        up = {**span, **_option_ticks(options)}
        alt = f"{words(gene)} between its bounds {number(low)} and {number(high)}"
        if options:
            alt = f"{words(gene)}, of {', '.join(options)}"
        elif len(quantiles):
            first, middle, third = (number(float(quantiles[-1, i])) for i in (2, 3, 4))
            alt += f"; at the end half of the population lies from {first} to {third}"
            alt += f", median {middle}"
        return draw.plane(words(gene), alt, data, "generation", up, showlegend=False)

    def step_genes(self) -> Chart:
        """Genes of the picks of all steps of a schedule, as shares of their bounds."""
        names, shares = collect_step_genes(self._run)
        x = np.array([row.date_ns for row in require_schedule(self._run).rows], np.float64) / 1e6
        data = [
            draw.scatter(
                "lines+markers", x, shares[:, g], name=draw.name(gene), line={"shape": "hv"}
            )
            for g, gene in enumerate(names)
        ]
        up = draw.axis("share of the bounds", range=[-0.03, 1.03])
        moved = np.abs(np.diff(shares, axis=0))
        known = moved[np.isfinite(moved)]
        alt = f"{format_count(len(names), 'gene')} of the picks of {format_count(len(x), 'step')}"
        if len(known):
            alt += f"; from one to the next they move by {float(known.mean()):.0%} of their bounds"
        return draw.plane("genes of each step", alt, data, draw.DATES, up)

    def heatmap(
        self, x: str | None = None, y: str | None = None, metric: str | None = None
    ) -> Chart:
        """A metric over two genes, of each cell the best; ``run.grid`` has its numbers.

        Without genes the two that explain most of the metric, which is the first objective unless
        another is named.
        """
        run = self._run
        metric = metric or run.objectives[0]
        candidates = find_candidates(run, metric)
        if x is None or y is None:
            genes = choose_genes(candidates, run.bounds, run.header.is_category)
            if genes is None:
                raise ConfigError(f"run '{run.id}' has no two genes that vary")
        else:
            genes = run.number_of_gene(x), run.number_of_gene(y)
        return _draw_heat_map(run, candidates, genes, metric)


def list_convergence(run: Tables) -> list[str]:
    """Names of the measures of a search over its generations."""
    has_volume = bool((run.history.volume > 0).any())
    return [*(["hypervolume"] if has_volume else []), *run.objectives]


def main_heat_map(run: Tables) -> Chart | None:
    """The first objective over the two genes that matter most; None without bars or genes."""
    if is_lattice(run) and run.bars_problem:
        return None
    metric = run.objectives[0]
    candidates = find_candidates(run, metric, MOST_MEASURED)
    pair = choose_genes(candidates, run.bounds, run.header.is_category)
    return None if pair is None else _draw_heat_map(run, candidates, pair, metric)


def _draw_heat_map(run: Tables, candidates: Candidates, pair: tuple[int, int], what: str) -> Chart:
    """A metric over two genes, by their places, of all candidates in a cell the best."""
    is_more, form = wants_more(what), {"tickformat": PERCENT} if is_fraction(what) else {}
    cells, options = candidates.grid(pair, maximise=is_more), run.header.options
    genes = [run.genes[g] for g in pair]
    known = cells.values[np.isfinite(cells.values)]
    across, up = (draw.name(words(gene)) for gene in genes)
    best = draw.name(words(what))
    data: list[Trace] = [
        {
            "type": "heatmap",
            "x": cells.x,
            "y": cells.y,
            "z": cells.values,
            "customdata": cells.counts,
            "hovertemplate": f"{across} %{{x:.4g}}<br>{up} %{{y:.4g}}<br>best {best} "
            f"%{{z:{'.2%' if form else '.4g'}}} of %{{customdata}} candidates<extra></extra>",
            "hoverongaps": False,
            "colorbar": {"title": {"text": f"best<br>{best}"}, "thickness": 12, **form},
            **_colours(known, maximise=is_more),
        }
    ]
    has_pick = run.pick is not None and bool(run.members)
    if run.pick is not None and has_pick:
        at = run.genomes[run.pick.member][[*pair]]
        ring = {"symbol": "circle-open", "size": 14, "color": draw.ORANGE, "line": {"width": 3}}
        data.append(draw.scatter("markers", at[:1], at[1:], name="the pick", marker=ring))
    axes = (
        draw.axis(words(gene), **(_option_ticks(options.get(gene, ())) or _ticks(values)))
        for gene, values in zip(genes, (cells.x, cells.y), strict=True)
    )
    title = f"{words(what)} by {words(genes[0])} and {words(genes[1])}"
    alt = _heat_words(cells, known, what, has_pick)
    return draw.plane(title, alt, data, *axes, showlegend=False)


def _draw_hypervolume(generations: Ints, volume: Floats) -> Chart:
    """The volume [N] that the best found so far dominate, as a share of the last one's."""
    known = np.flatnonzero(volume >= 0.99)
    alt = "the front is empty in every generation"
    if len(known):
        alt = f"99% of the final hypervolume is reached in generation {generations[known[0]]}"
    up = draw.axis("share of the final hypervolume", tickformat=".0%", rangemode="tozero")
    data = [draw.line(generations, volume, draw.BLUE, "hypervolume")]
    return draw.plane("hypervolume of the front", alt, data, "generation", up)


def _bands(generations: Ints, quantiles: Floats) -> list[Mapping[str, object]]:
    """The areas between quantiles, the widest first."""
    bands: list[Mapping[str, object]] = []
    around = np.concatenate([generations, generations[::-1]])
    labels = ("whole population", "middle 80%", "middle 50%")
    for k, (label, opacity) in enumerate(zip(labels, (0.12, 0.2, 0.3), strict=True)):
        edge = np.concatenate([quantiles[:, 6 - k], quantiles[::-1, k]])
        bands.append(
            draw.scatter(
                "lines",
                around,
                edge,
                fill="toself",
                fillcolor=f"rgba(59,130,196,{opacity})",
                line={"width": 0},
                hoverinfo="skip",
                name=draw.name(label),
            )
        )
    return bands


def _colours(known: Floats, *, maximise: bool) -> Mapping[str, object]:
    """Red for losses and green for gains where values have a sign, else grey to the better."""
    if not len(known) or known.min() >= 0:
        return {"colorscale": draw.TO_GREEN, "reversescale": not maximise}
    reach = float(np.abs(known).max())
    return {"colorscale": draw.RED_TO_GREEN, "zmin": -reach, "zmax": reach}


def _ticks(values: Floats) -> Mapping[str, object]:
    """A tick at each value of a gene that is short and where there is room; not at ranges."""
    texts = [f"{value:.4g}" for value in values.tolist()]
    if len(values) > MOST_TICKS or list(map(float, texts)) != values.tolist():
        return {}
    return {"tickvals": values, "ticktext": texts}


def _option_ticks(options: Sequence[str]) -> Mapping[str, object]:
    """A tick at each option, by its name."""
    texts = [draw.name(option) for option in options]
    return {"tickvals": list(range(len(texts))), "ticktext": texts} if texts else {}


def _heat_words(cells: Grid, known: Floats, metric_name: str, has_pick: bool) -> str:
    """Sentences on a heat map, and on a flat part of it."""
    count = format_count(int(cells.counts.sum()), "candidate")
    if not len(known):
        return f"none of {count} is feasible"
    low, high = (metric(metric_name, float(value)) for value in (known.min(), known.max()))
    is_one = cells.counts.max() == 1
    sentences = [
        f"{count}, {'one' if is_one else 'the best of those'} in each cell, from {low} to {high}"
        + ("; the ring is the pick" if has_pick else ""),
        "A flat part means that settings nearby do as well, so that exact values matter little; a "
        "cell that stands out alone is more likely luck",
    ]
    if len(known) < cells.counts.size:
        sentences.append("Cells without a feasible candidate are empty")
    if not is_one:
        sentences.append("Where more were tried, the best looks better")
    return ". ".join(sentences)
