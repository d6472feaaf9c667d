"""Tables of the page about sources, made of files that are rows of the corpus."""

import re
from importlib.metadata import version

import pytest

from tests.support.paths import ROOT
from tests.support.vendor_files import FILES
from tests.support.written_forms import FORMS

PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = r"^\| {} \|.*?(?=\n\n)"


def list_options(options):
    """Options as they are typed."""
    named = [f"--column {meaning}={name}" for meaning, name in options.get("columns", {}).items()]
    named += [
        f"--{name.replace('_', '-')} {value!r}".replace("'", '"' if " " in value else "")
        for name, value in options.items()
        if name != "columns"
    ]
    return f"`{' '.join(named)}`" if named else ""


def list_files():
    """Source, kind and outcome of each file of a vendor."""
    yield ("source", "file", "outcome", "read with")
    for file in FILES:
        words = [f"refused: {file.refusal}" if file.refusal else "read"]
        words += [f"note: {file.note}"] if file.note else []
        yield (file.source, file.words, "; ".join(words), list_options(file.options))


def list_forms():
    """Forms of each program and outcome, with their endings."""
    yield ("program", "version", "forms", "outcome")
    groups = {}
    for form in FORMS:
        outcome = f"refused: {form.refusal}" if form.refusal else "read"
        groups.setdefault((form.program, outcome), []).append(f"{form.words} `{form.ending}`")
    for (program, outcome), forms in groups.items():
        yield (program, version(program), "; ".join(forms), outcome)


def without_versions(table):
    """A table but for its versions: others are as good where they pass the same tests."""
    rows = [line.split("|") for line in table.splitlines()]
    return [cells[:2] + cells[3:] if "program" in table else cells for cells in rows]


@pytest.mark.parametrize("rows", [list_files, list_forms])
def test_the_page_has_the_table(request, rows):
    """It is made from the files; ``--bless`` writes it anew."""
    head, *lines = ([f" {cell} " for cell in row] for row in rows())
    made = "\n".join(f"|{'|'.join(line)}|" for line in (head, [" --- "] * len(head), *lines))
    page, table = PAGE.read_text(encoding="utf-8"), re.compile(
        TABLE.format(head[0].strip()), re.MULTILINE | re.DOTALL)  # fmt: skip
    if request.config.getoption("--bless"):
        page = table.sub(lambda _: made, page)
        PAGE.write_text(page, encoding="utf-8")
    (shown,) = table.findall(page)
    assert without_versions(shown) == without_versions(made)
