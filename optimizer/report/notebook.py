"""A run in a notebook, as HTML."""

from html import escape

from optimizer.formatting import format_count
from optimizer.report.evidence import build_answer
from optimizer.report.tables import Tables
from optimizer.report.tiles import describe_tiles, list_tiles
from optimizer.run.differing import find_differing
from optimizer.store.labels import Labels


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
    pick = None if run.pick is None else run.pick.member
    shown = list(find_differing(run.members, run.objectives, pick))
    front = run.front[[*run.objectives, *run.genes]].iloc[shown]
    more = f", {len(shown)} that differ most" if len(run.members) > len(shown) else ""
    members = f": {format_count(len(run.members), 'member')}{more}" if run.is_search else ""
    texts = (", ".join(labels.tags), labels.note)
    labels_line = "".join(f"<br>{escape(text)}" for text in texts if text)
    blocks.append(f"<p>{escape(run.title)}{members}{labels_line}</p>")
    return "".join([*blocks, front.to_html(float_format="{:.4g}".format)])
