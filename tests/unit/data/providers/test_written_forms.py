"""The page of forms that programs write, each of which is a row of the corpus."""

import re
from importlib.metadata import version

from tests.support.paths import ROOT
from tests.support.written_forms import FORMS

PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = re.compile(r"^\| program \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


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
