"""A run in a notebook, as HTML."""

from html import escape

from optimizer.formatting import format_count
from optimizer.report.evidence import build_answer
from optimizer.report.tables import Tables
from optimizer.report.tiles import describe_tiles, list_tiles
from optimizer.store.labels import Labels

MOST_ROWS = 5
"""Members of a front that a notebook shows of a run."""


def render_html(run: Tables, labels: Labels) -> str:
    """A run as HTML: the verdict with its next step, numbers of the pick, the best of the front."""
    verdict = build_answer(run)
    blocks = [
        f"<p><strong>{escape(verdict.word)}</strong><br>{escape(verdict.sentence)}",
        f"<br>Next: {escape(verdict.step)}" if verdict.step else "",
        "</p>",
    ]
    tiles = list_tiles(run)
    if tiles:
        names = "".join(f"<th>{escape(tile.name)}</th>" for tile in tiles)
        values = "".join(f"<td>{escape(tile.value)}</td>" for tile in tiles)
        notes = "".join(f"<td>{escape(tile.note)}</td>" for tile in tiles)
        blocks.append(f"<p>{escape(describe_tiles(run))}</p>")
        blocks.append(f"<table><tr>{names}</tr><tr>{values}</tr><tr>{notes}</tr></table>")
    front = run.front[[*run.objectives, *run.genes]].head(MOST_ROWS)
    more = f", the first {MOST_ROWS}" if len(run.members) > MOST_ROWS else ""
    members = f": {format_count(len(run.members), 'member')}{more}" if run.is_search else ""
    texts = (", ".join(labels.tags), labels.note)
    labels_line = "".join(f"<br>{escape(text)}" for text in texts if text)
    blocks.append(f"<p>{escape(run.title)}{members}{labels_line}</p>")
    return "".join([*blocks, front.to_html(float_format="{:.4g}".format)])
