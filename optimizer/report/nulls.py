"""A judged folder of null markets as one page that a browser opens without a network."""

from collections.abc import Iterator
from statistics import median

from optimizer.formatting import GRADE_WORDS, number
from optimizer.nulls.judge import NullVerdict
from optimizer.report.charts.judged import null_strengths
from optimizer.report.page import render_charts


def build_null_page(verdict: NullVerdict) -> str:
    """The page of a verdict on results: its sentence, all results, and a chart of them."""
    charts = {"null": null_strengths(verdict.null, verdict.value, number_of="result")}
    page = {
        "sentence": verdict.sentence,
        "notes": verdict.notes,
        "grade": verdict.grade,
        "word": GRADE_WORDS[verdict.grade].capitalize(),
        "rows": list(_list_rows(verdict)),
    }
    return render_charts("null", charts, page)


def _list_rows(verdict: NullVerdict) -> Iterator[tuple[str, str, str, str, str]]:
    """Cells of the real market, then of each kind of copies."""
    yield f"{verdict.real}, the real one", "1", "", number(verdict.value), number(verdict.value)
    for name, kind in verdict.null.kinds.items():
        values = [value for value in kind.strengths if value is not None]
        ends = number(median(values)), number(max(values))
        yield f"{name} copies", number(kind.run), number(kind.strength.at_least), *ends
