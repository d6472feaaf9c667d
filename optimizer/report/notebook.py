"""A run in a notebook, as HTML."""

from html import escape

from optimizer.formatting import format_count
from optimizer.report.facts import describe_figures, summarize
from optimizer.report.summary import select, shorten_verdict
from optimizer.report.tables import Tables
from optimizer.run.tables import find_differing
from optimizer.store.labels import Labels


def render_html(run: Tables, labels: Labels) -> str:
    """A run as HTML: the verdict with its next step, numbers of the pick, the best of the front."""
    facts = summarize(run)
    verdict, *_ = select(facts, "verdict")
    steps = [f"<br>Next: {escape(fact.value)}" for fact in select(facts, "next")]
    head = f"{verdict.note}<strong>{escape(verdict.label)}</strong>"
    blocks = [f"<p>{head}<br>{escape(shorten_verdict(verdict))}", *steps, "</p>"]
    if figures := select(facts, "figure"):
        columns = zip(*((fact.label, fact.value, fact.note) for fact in figures), strict=True)
        rows = [
            "".join(f"<{tag}>{escape(text)}</{tag}>" for text in row)
            for tag, row in zip(("th", "td", "td"), columns, strict=True)
        ]
        blocks.append(f"<p>{escape(describe_figures(run))}</p>")
        blocks.append(f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>")
    pick = None if run.pick is None else run.pick.member
    shown = list(find_differing(run.members, run.objectives, pick))
    front = run.front[[*run.objectives, *run.genes]].iloc[shown]
    more = f", {len(shown)} that differ most" if len(run.members) > len(shown) else ""
    members = f": {format_count(len(run.members), 'member')}{more}" if run.is_search else ""
    texts = (", ".join(labels.tags), labels.note)
    labels_line = "".join(f"<br>{escape(text)}" for text in texts if text)
    blocks.append(f"<p>{escape(run.title)}{members}{labels_line}</p>")
    return "".join([*blocks, front.to_html(float_format="{:.4g}".format)])
