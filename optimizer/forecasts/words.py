"""A forecast's record in words, for terminals and pages alike."""

import math

from optimizer.forecasts.column import ForecastRecord
from optimizer.forecasts.skill import RIVALS, RivalGain, SkillFigures
from optimizer.formatting import format_count, fraction, number


def find_main_gain(record: ForecastRecord) -> RivalGain:
    """The gain that decides: over the mean, of a model that is the mean over nothing."""
    against = record.skill.whole.against
    return against.get(RIVALS[1]) or against[RIVALS[0]]


def format_p(value: float | None) -> str:
    """A p value in four characters at most; a dash for an unknown one."""
    if value is None or math.isnan(value):
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 1 else "1"


def format_slope(figures: SkillFigures) -> str:
    """The slope of targets on forecasts; 1 is calibrated."""
    return "-" if figures.slope is None else f"{figures.slope:.2f}"


def list_skill_cells(record: ForecastRecord) -> list[list[str]]:
    """Figures of each refit and of all: its day, bars, a gain and its p a rival, hits, slope."""
    rows = []
    for name, figures in (*record.skill.folds, ("all", record.skill.whole)):
        cells = [name[:10], number(figures.bars)]
        for rival in record.skill.whole.against:
            gain = figures.against[rival]
            cells += [fraction(gain.gain), format_p(gain.p)]
        hits = "-" if figures.hits is None else f"{figures.hits:.1%}"
        rows.append([*cells, hits, format_slope(figures)])
    return rows


def describe_record(record: ForecastRecord) -> list[str]:
    """Lines on hits, calibration, settings, features and how many were fitted on these bars."""
    whole, settings, lines = record.skill.whole, record.settings, []
    if whole.hits is not None and whole.hits_error is not None and whole.ups is not None:
        lines.append(
            f"hits {whole.hits:.1%} +- {whole.hits_error:.1%} of signs ({whole.ups:.1%} went up)"
        )
    if whole.slope is not None and whole.slope_error is not None:
        lines.append(
            f"calibration: target = {whole.intercept:.3g} + {whole.slope:.2f} +- "
            f"{whole.slope_error:.2f} times the forecast (0 and 1 are best)"
        )
    lines += [
        f"{settings['model']}, {format_count(settings['horizon'], 'bar')} ahead, window "
        f"{settings['window']}, {len(record.skill.folds)} refits on {settings['train']:,} bars, "
        f"target: {settings['target']} return",
        f"features: {'; '.join(record.features)}",
    ]
    if record.fits > 1:
        lines.append(
            f"{record.fits} different forecasts were fitted on these bars; each is a trial"
        )
    return lines


def list_digests(record: ForecastRecord) -> str:
    """The beginning of each digest."""
    digests = {
        "record": record.digest,
        "column": record.column,
        "weights": record.weights,
        "code": record.code,
    }
    return ", ".join(f"{name} {digest[:12] or 'none'}" for name, digest in digests.items())
