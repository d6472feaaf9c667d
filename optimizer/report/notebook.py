"""A run where Python shows it: in a notebook as HTML, and how far it is while it runs."""

import sys
import time
from html import escape
from importlib import import_module
from typing import Any

from optimizer.evidence.concurrent_folds import SpareCores
from optimizer.formatting import format_count, metric
from optimizer.report.evidence import build_answer
from optimizer.report.tables import Tables
from optimizer.report.tiles import describe_tiles, list_tiles
from optimizer.run.problem import Evaluator, JustSearched
from optimizer.run.progress import Progress
from optimizer.run.runner import Observer
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.labels import Labels

FRAME_EVERY_S = 0.2

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


def is_watched() -> bool:
    """Whether a person sits before this process: a notebook, or an interactive session."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


class LiveLine:
    """One line that is replaced as it changes, in a notebook or an interactive session."""

    def __init__(self) -> None:
        self.is_shown = is_watched()
        self._handle: Any = None
        self._last_shown, self._width = 0.0, 0

    def is_due(self) -> bool:
        """Whether the run is watched and nothing has been shown for a while."""
        return self.is_shown and time.monotonic() - self._last_shown >= FRAME_EVERY_S

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        self._last_shown = time.monotonic()
        if "ipykernel" in sys.modules:
            self._display(text)
            return
        self._width = max(self._width, len(text))
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()

    def end(self) -> None:
        """Let what follows begin on a line of its own."""
        if self._width:
            sys.stderr.write("\n")

    def judge(self, part: str, done: int, planned: int, word: str) -> None:
        """Show how far a judgement is, as `optimizer.evidence.checkpoint.Watch`."""
        if self.is_due() or (self.is_shown and not done):
            count = f" {done:,} of {planned:,}" if planned else ""
            self.show(f"judging: {part}{count}" + (f", {word}" if word and done else ""))

    def train(self, done: int, planned: int) -> None:
        """Show how far a forecast is, as `optimizer.forecasts.fit.Watch`."""
        if self.is_due() or (self.is_shown and done == planned):
            self.show(f"training: {done:,} of {planned:,}")

    def _display(self, text: str) -> None:
        ipython: Any = import_module("IPython.display")
        shown = ipython.HTML(f"<pre>{escape(text)}</pre>")
        if self._handle is None:
            self._handle = ipython.display(shown, display_id=True)
        else:
            self._handle.update(shown)


class LineWatcher(Observer):
    """Shows how far a search is in a line, and keeps what it leaves for its judgement."""

    def __init__(self, line: LiveLine, beside: SpareCores | None = None) -> None:
        self.just = JustSearched()
        self._line, self._beside = line, beside
        self._objective, self._last = "", 0

    def on_task(self, task: Task, warm_start: Floats | None) -> None:
        """Begin what is searched beside the run."""
        if self._beside is not None:
            self._beside.begin(task, warm_start)

    def on_search_start(self, task: Task, engine: Evaluator, store: RunStore) -> None:
        """The search is about to begin."""
        if self._beside is not None:
            self._beside.give_room(engine)
        self._objective, self._last = task.goals.names[0], task.config.generations

    def is_due(self, generation: int) -> bool:
        """Whether the line is to be shown anew; the last generation always."""
        return self._line.is_due() or (self._line.is_shown and generation == self._last)

    def generation(self, progress: Progress) -> None:
        """Show a generation."""
        best = metric(self._objective, progress.best[0])
        self._line.show(
            f"generation {progress.generation:,} of {progress.generations:,}: "
            f"front {progress.front:,}, best {self._objective.replace('_', ' ')} {best}"
        )

    def on_search_end(self, just: JustSearched) -> None:
        """The search is over."""
        self.just = just
