"""How the pages are built: ``python -m sphinx -W docs FOLDER``, with the extra ``docs``."""

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

project = "Exhaustion optimizer"
author = "the exhaustion-optimizer authors"
copyright = f"2026, {author}"
release = version = version_of("exhaustion-optimizer")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = project
html_copy_source = False
myst_heading_anchors = 4
default_role = "code"
smartquotes = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
napoleon_use_rtype = False

FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
MADE = re.compile(r"^```\{made\} (\w+)\n```$", re.MULTILINE)
INCLUDED = re.compile(r"^```\{include\} (\S+)", re.MULTILINE)

log = logging.getLogger(__name__)


def pages() -> dict[Path, Path]:
    """Pages by the file of the repository that they show: each page, and its includes."""
    found = {}
    for page in sorted(DOCS.rglob("*.md")):
        found[page] = page
        for name in INCLUDED.findall(page.read_text(encoding="utf-8")):
            found[(page.parent / name).resolve()] = page
    return found


PAGES = pages()


def linked(text: str, source: Path, page: Path) -> str:
    """Text of `source` with its links as they are in `page`; files that are no page are named."""

    def turned(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if target in PAGES:
            return f"[{link[1]}]({os.path.relpath(PAGES[target], page.parent)}{link[3] or ''})"
        if not target.exists():
            log.warning("%s: there is no %s", source.relative_to(ROOT), link[2])
        name = str(target.relative_to(ROOT))
        return f"`{name}`" if name in link[1] else f"{link[1]} (`{name}`)"

    is_code, lines = False, []
    for line in text.split("\n"):
        is_code ^= bool(FENCE.match(line))
        lines.append(line if is_code else LINK.sub(turned, line))
    return "\n".join(lines)


def on_page(app: Sphinx, docname: str, text: list[str]) -> None:
    """Insert the parts made from code, and turn links."""
    import made  # only now: it loads the whole project

    page = DOCS / f"{docname}.md"
    text[0] = MADE.sub(lambda block: made.MADE[block[1]](), linked(text[0], page, page))


def on_included(app: Sphinx, name: Path, parent: str, text: list[str]) -> None:
    """Turn the links of a file that is read inside a page."""
    text[0] = linked(text[0], (DOCS / name).resolve(), DOCS / f"{app.env.docname}.md")


def setup(app: Sphinx) -> None:
    """Connect the readers; a block of CSV is shown as text."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", on_page)
    app.connect("include-read", on_included)
