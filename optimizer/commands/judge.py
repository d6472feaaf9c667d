"""judge: whether a run's front is more than luck, and all evidence in plain words."""

import time
from collections.abc import Mapping
from pathlib import Path

from rich.table import Table

from optimizer.commands.console import Lines, print_json, stderr, stdout
from optimizer.config.evidence import EvidenceSettings
from optimizer.config.run_config import make_config
from optimizer.errors import StoppedError
from optimizer.judging.judge import judge_run
from optimizer.judging.judgement import Judgement, VerdictRecord
from optimizer.judging.opened import recorded_judgement
from optimizer.judging.plan import plan_of
from optimizer.judging.weighed import weighed
from optimizer.judging.words import sentences
from optimizer.runs import RunStore, find_run
from optimizer.session.problem import Trials

LINE_EVERY_S = 1.0

COLOURS = {
    "invalid": "red",
    "too_little": "red",
    "luck": "red",
    "not_judged": "yellow",
    "weak": "yellow",
    "holds": "cyan",
    "robust": "cyan",
}
"""Of each grade; never the only sign of it."""


class Progress:
    """Says how far judging is: each part once, then a line a second."""

    def __init__(self, console: Lines, *, quiet: bool) -> None:
        self._console, self._quiet = console, quiet
        self._part, self._begun, self._before, self._shown = "", 0.0, 0, 0.0

    def __call__(self, part: str, done: int, planned: int, word: str) -> None:
        """As `optimizer.judging.kept.Watch`."""
        now = time.monotonic()
        if part != self._part:
            self._part, self._begun, self._before, self._shown = part, now, done, 0.0
        is_due = now - self._shown >= LINE_EVERY_S or (planned and done == planned)
        if self._quiet or not is_due:
            return
        self._shown = now
        told = [f"{part} {done:,} of {planned:,}" if planned else part]
        told += [word] * bool(word and done)
        if done > self._before and done < planned:
            left = (now - self._begun) / (done - self._before) * (planned - done)
            told.append(f"{left:,.0f} s left at most")
        self._console.say("judging: " + ", ".join(told))


def judge_command(
    name: str,
    runs: Path,
    flags: Mapping[str, object],
    pick: int | None,
    *,
    is_open: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge a recorded run and print what was found out."""
    path = find_run(runs, name)
    with RunStore.open(path) as store:
        earlier = recorded_judgement(store)
    settings = make_config(flags, where="judge", flags=flags)
    plan = plan_of(settings, flags, earlier, pick=pick, is_open=is_open)
    own = {key: value for key, value in flags.items() if key not in EvidenceSettings.model_fields}
    try:
        found = judge_run(path, plan, own, Progress(stderr(), quiet=quiet))
    except KeyboardInterrupt:
        raise StoppedError(stopped_words(path)) from None
    if as_json:
        print_json({"run": path.name, "judgement": found.payload()})
        return
    console = stdout()
    say_verdict(console, found.verdict)
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    first = [row for row in sentences(found) if row[0] == "pick"]
    for about, sentence in (*first, *((row.about, row.sentence) for row in weighed(found))):
        table.add_row(about, sentence)
    console.print(table)


def say_verdict(console: Lines, verdict: VerdictRecord) -> None:
    """What comes first wherever a front is shown, and the reasons."""
    console.say(verdict.sentence, style=f"bold {COLOURS[verdict.grade]}")
    for reason in verdict.reasons:
        console.say(f"  {reason}")
    console.print()


def judged_after_search(
    path: Path, settings: EvidenceSettings, trials: Trials | None, *, quiet: bool
) -> Judgement | None:
    """Judge a run that has just ended, as far as was asked for; None where nobody asked."""
    if settings.judge is False:
        return None
    try:
        return judge_run(path, plan_of(settings), {}, Progress(stderr(), quiet=quiet), trials)
    except KeyboardInterrupt:
        raise StoppedError(stopped_words(path)) from None


def stopped_words(path: Path) -> str:
    """What a person is told who stops a judge."""
    return (
        "stopped; the front is recorded, and so is what was found out about it, go on with: "
        f"python -m optimizer judge {path}"
    )
