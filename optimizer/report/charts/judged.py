"""Charts of evidence: strengths of null searches, edges found, and the pick at other costs."""

from math import nan

import numpy as np

from optimizer.errors import ConfigError
from optimizer.evidence.figures import Number
from optimizer.evidence.null import NullKind, NullRecord
from optimizer.formatting import number
from optimizer.report.charts import chart as draw
from optimizer.report.charts.chart import Chart, Layout, RunCharts, Trace

BARS = 30
"""Of a histogram."""

CURVE_POINTS = 41

PATTERNS = {"shuffled": (draw.BLUE, ""), "mirrored": (draw.ORANGE, "/")}
"""Colour and hatching of each kind of null market: both together are distinct."""


class EvidenceCharts(RunCharts):
    """Charts of a run's judgement."""

    def null(self) -> Chart:
        """Strengths of null searches, and of the pick; of null schedules where there are some."""
        judgement = self._run.judgement
        made = None if judgement is None else judgement.schedule
        if made is not None and made.null is not None:
            return null_strengths(made.null, made.strength, "schedules")
        if judgement is None or judgement.null is None:
            raise ConfigError(
                f"run '{self._run.id}' was not held against null searches: judge it first"
            )
        pick = judgement.pick
        return null_strengths(judgement.null, None if pick is None else pick.strength)

    def power(self) -> Chart:
        """Shares of markets with a planted edge that the search finds."""
        judgement = self._run.judgement
        power = None if judgement is None else judgement.power
        if power is None:
            raise ConfigError(
                f"power of run '{self._run.id}' was not measured yet: measure it first"
            )
        strengths = np.linspace(0.0, power.rows[-1].strength, CURVE_POINTS)
        curve = np.array([(power.find_edge(at), power.find_rate(at)) for at in strengths]).T
        counted = np.array([(row.edge, row.found / row.markets) for row in power.rows]).T
        data = [
            draw.line(curve[0], curve[1], draw.BLUE, "curve"),
            draw.scatter(
                "markers", *counted, marker={"color": draw.ORANGE, "size": 9}, name="counted"
            ),
        ]
        across = draw.axis("R a trade", rangemode="tozero")
        up = draw.axis("share found", range=[0, 1.05])
        texts = [f"{row.found} of {row.markets} with {row.edge:g} R" for row in power.rows]
        alt = f"found are {', '.join(texts)}"
        return draw.plane("planted edges that are found", alt, data, across, up)

    def at_costs(self) -> Chart:
        """Strength of the pick at multiples of the costs that were charged."""
        judgement = self._run.judgement
        robust = None if judgement is None else judgement.robust
        if robust is None:
            raise ConfigError(f"run '{self._run.id}' was not judged yet: judge it first")
        times = np.array([point.times for point in robust.costs])
        strengths = [nan if point.strength is None else point.strength for point in robust.costs]
        stroke = {"color": draw.BLUE, "width": 2}
        drawn = draw.scatter(
            "lines+markers", times, np.array(strengths), line=stroke, name="strength"
        )
        up = draw.axis("strength", rangemode="tozero", zeroline=True, zerolinewidth=2)
        mark: Layout = {}
        charged = f"as charged ({number(robust.charged_bp)} basis points a side)"
        named = {0.0: "without costs", 1.0: charged, 2.0: "at twice that"}
        pairs = zip(robust.costs, strengths, strict=True)
        texts = [f"{number(s)} {named[at.times]}" for at, s in pairs if at.times in named]
        alt, even = f"strength {', '.join(texts)}", robust.break_even_bp
        if even is not None and robust.charged_bp > 0:
            at = even / robust.charged_bp
            if 0 <= at <= times.max(initial=0):
                mark = draw.upright(at, "nothing left ", side="right")
            alt += (
                f"; nothing is left at {number(even)}" if even >= 0 else "; it loses before costs"
            )
        across = "times what was charged"
        return draw.plane("the pick at other costs", alt, [drawn], across, up, **mark)


def null_strengths(
    null: NullRecord,
    pick_strength: Number,
    noun: str = "searches",
    number_of: str = "strength",
) -> Chart:
    """How strong the same search looks on markets without an edge, and the pick's own mark.

    `noun` names searches or schedules; a schedule's mark is that of its stitched trades.
    `number_of` names the number that is compared; another one than strength is of no pick.
    """
    mark = "the pick" if noun == "searches" and number_of == "strength" else "here"
    kinds = {"shuffled": null.shuffled, "mirrored": null.mirrored}
    known = {name: _select_strengths(kind) for name, kind in kinds.items() if kind is not None}
    marked = [] if pick_strength is None else [pick_strength]
    edges = np.histogram_bin_edges(np.concatenate([*known.values(), marked]), BARS)
    middle, width, highest = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0], 1
    data: list[Trace] = []
    for name, values in known.items():
        counts, _ = np.histogram(values, edges)
        highest = max(highest, int(counts.max()))
        colour, hatching = PATTERNS[name]
        marker = {"color": colour, "pattern": {"shape": hatching}}
        label = f"{name} bars"
        data.append(draw.bar(middle, counts, name=label, marker=marker, opacity=0.7))
    if pick_strength is not None:
        ends = np.array([pick_strength, pick_strength])
        data.append(draw.line(ends, np.array([0, highest]), draw.PURPLE, mark, 4))
    # Room for the mark of a pick that is stronger than all of them.
    across = draw.axis(number_of, range=[edges[0] - width, edges[-1] + width])
    alt = "; ".join(
        _null_words(name, kind, noun) for name, kind in kinds.items() if kind is not None
    )
    alt += f"; {mark}{' has' if mark == 'the pick' else ''} {number(pick_strength)}"
    kind = "search" if noun == "searches" else "schedule"
    title = f"the same {kind} on markets without an edge"
    return draw.plane(title, alt, data, across, noun, barmode="overlay", bargap=0.05)


def _select_strengths(kind: NullKind) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Strengths of fronts that have one."""
    return np.array([strength for strength in kind.strengths if strength is not None], np.float64)


def _null_words(name: str, kind: NullKind, noun: str) -> str:
    empty = kind.run - len(_select_strengths(kind))
    text = f"{number(kind.strength.at_least)} of {number(kind.run)} {noun} on {name} bars"
    return f"{text} did as well" + (f", {number(empty)} found nothing" if empty else "")
