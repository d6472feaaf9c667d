"""The page's table of files as exchanges, brokers and vendors write them."""

import re

from tests.support.paths import ROOT
from tests.support.vendor_files import FILES

PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = re.compile(r"^\| source \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def test_the_page_lists_these_files(request):
    """The table of the page is made from the files; ``--bless`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--bless"):
        page = TABLE.sub(lambda _: make_table(), page)
        PAGE.write_text(page, encoding="utf-8")
    assert TABLE.findall(page) == [make_table()]


def make_table():
    """Source, kind and outcome of each file, as a table of the page."""
    rows = ["| source | file | outcome | read with |", "| --- | --- | --- | --- |"]
    for file in FILES:
        words = [f"refused: {file.refusal}"] if file.refusal else ["read"]
        words += [f"note: {file.note}"] if file.note else []
        options = list_options(file.options)
        rows.append(f"| {file.source} | {file.words} | {'; '.join(words)} | {options} |")
    return "\n".join(rows)


def list_options(options):
    """Options as they are typed."""
    messages = [
        f"--column {meaning}={name}" for meaning, name in options.get("columns", {}).items()
    ]
    messages += [
        f"--{name.replace('_', '-')} {value!r}".replace("'", '"' if " " in value else "")
        for name, value in options.items()
        if name != "columns"
    ]
    return f"`{' '.join(messages)}`" if messages else ""
