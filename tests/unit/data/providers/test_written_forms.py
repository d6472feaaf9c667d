"""Bars as pandas, polars, pyarrow and duckdb write them come back in every bit, or are refused."""

import re
from importlib.metadata import version

import pytest

from data import DataError, load_bars
from tests.support.paths import ROOT
from tests.support.written_forms import FORMS, TIME_NS, VALUES_BY_NAME

PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = re.compile(r"^\| program \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def read_form(form, folder):
    """The bars of a file of this form, by its bare path."""
    path = folder / f"series{form.ending}"
    form.write(path)
    return load_bars(str(path))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_is_read_in_every_bit_or_refused_by_its_kind(form, tmp_path):
    """Times and values are those that were written; another kind of file is named."""
    if form.refusal:
        with pytest.raises(DataError, match=f"^series{form.ending}: {re.escape(form.refusal)}; "):
            read_form(form, tmp_path)
        return
    bars = read_form(form, tmp_path)
    assert bars.symbol == "series"
    assert bars.timestamp.tobytes() == TIME_NS.tobytes()
    for name, values in VALUES_BY_NAME.items():
        assert getattr(bars, name).tobytes() == values.tobytes(), name


def test_each_program_writes_ten_forms_that_are_read():
    """Nothing is left out of the table by accident."""
    for program in ("pandas", "polars", "pyarrow", "duckdb"):
        forms = {form.name for form in FORMS if form.program == program and not form.refusal}
        assert len(forms) >= 10, program


def test_the_page_lists_these_forms(request):
    """The table of the page is made from the forms; ``--bless`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--bless"):
        page = TABLE.sub(lambda _: make_table(), page)
        PAGE.write_text(page, encoding="utf-8")
    (table,) = TABLE.findall(page)
    assert without_versions(table) == without_versions(make_table())


def make_table():
    """Program, version, form and outcome of each form, as a table of the page."""
    lines = ["| program | version | form | ending | outcome |", "| --- | --- | --- | --- | --- |"]
    for form in FORMS:
        outcome = f"refused: {form.refusal}" if form.refusal else "read"
        cells = (form.program, version(form.program), form.words, f"`{form.ending}`", outcome)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def without_versions(table):
    """A table but for its versions: others are as good where they pass the same tests."""
    return [
        [cell for place, cell in enumerate(line.split("|")) if place != 2]
        for line in table.splitlines()
    ]
