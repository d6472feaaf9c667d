"""Tables of forecasts, and how far a fit is."""

import math
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from rich.table import Table

from optimizer.cli.console import Lines, plain_table, print_json, stderr, stdout
from optimizer.forecasts.column import Forecast, ForecastRecord
from optimizer.forecasts.fit import Watch
from optimizer.forecasts.skill import RIVALS, SkillFigures
from optimizer.shown import format_count, fraction, number

LINE_EVERY_S = 1.0


def build_records_table(records: Mapping[Path, ForecastRecord]) -> Table:
    """Forecasts of files, a line each."""
    headings = ("file", "model", "horizon", "symbols", "gain", "p", "skill")
    table = plain_table(*headings, right=("horizon", "symbols", "gain", "p"))
    for path, record in records.items():
        against = record.skill.whole.against
        best = against.get(RIVALS[1]) or against[RIVALS[0]]
        table.add_row(
            path.name,
            str(record.settings["model"]),
            number(record.settings["horizon"]),
            number(len(record.data)),
            fraction(best.gain),
            _p(best.p),
            "skill" if record.skill.has_skill else "no skill",
        )
    return table


def print_forecast(forecast: Forecast, path: Path, *, as_json: bool) -> None:
    """Print how a forecast was made and how good it was."""
    record = forecast.record
    if as_json:
        print_json({"file": str(path), **record.payload()})
        return
    console = stdout()
    console.say(record.sentence, "cyan" if record.skill.has_skill else "red")
    console.print()
    console.print(_skill_table(record))
    console.print()
    _say_whole(console, record)
    digests = {
        "record": record.digest,
        "column": record.column,
        "weights": record.weights,
        "code": record.code,
    }
    console.say(", ".join(f"{name} {series[:12] or 'none'}" for name, series in digests.items()))
    console.say(f'read it in a strategy as column("forecast"), with --column-file forecast={path}')


def _skill_table(record: ForecastRecord) -> Table:
    """Gains over each rival with their p, refit by refit and in all; 80 columns wide at most."""
    rivals = list(record.skill.whole.against)
    headings = ["refit", "bars"]
    for name in rivals:
        # Headings are names: those of p differ by blanks that are not seen.
        headings += [f"over\n{name.removeprefix('the ')}", "p" + " " * rivals.index(name)]
    headings += ["hits", "slope"]
    table = plain_table(*headings, right=headings[1:], title="Gain in squared error")
    for name, figures in (*record.skill.folds, ("all", record.skill.whole)):
        cells = [name[:10], number(figures.bars)]
        for rival in rivals:
            series = figures.against[rival]
            cells += [fraction(series.gain), _p(series.p)]
        hits = "-" if figures.hits is None else f"{figures.hits:.1%}"
        slope = "-" if figures.slope is None else f"{figures.slope:.2f}"
        table.add_row(*cells, hits, slope)
    return table


def _say_whole(console: Lines, record: ForecastRecord) -> None:
    whole: SkillFigures = record.skill.whole
    settings = record.settings
    if whole.hits is not None and whole.hits_error is not None and whole.ups is not None:
        console.say(
            f"hits {whole.hits:.1%} +- {whole.hits_error:.1%} of signs ({whole.ups:.1%} went up)"
        )
    if whole.slope is not None and whole.slope_error is not None:
        console.say(
            f"calibration: target = {whole.intercept:.3g} + {whole.slope:.2f} +- "
            f"{whole.slope_error:.2f} times the forecast (0 and 1 are best)"
        )
    console.say(
        f"{settings['model']}, {format_count(settings['horizon'], 'bar')} ahead, window "
        f"{settings['window']}, {len(record.skill.folds)} refits on {settings['train']:,} bars, "
        f"target: {settings['target']} return"
    )
    console.say(f"features: {'; '.join(record.features)}")
    if record.fits > 1:
        console.say(f"{record.fits} different forecasts were fitted on these bars; each is a trial")


def _p(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 1 else "1"


def watch_training(*, quiet: bool) -> Watch:
    """Callback that prints how many stacks are trained, once a second at most."""
    console, shown = stderr(), [0.0]

    def watch(done: int, planned: int) -> None:
        now = monotonic()
        if done and not quiet and (now - shown[0] >= LINE_EVERY_S or done == planned):
            shown[0] = now
            console.say(f"training: {done} of {format_count(planned, 'stack')}")

    return watch
