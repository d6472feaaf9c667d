"""Records of runs: printed, beside each other, and as tables and programs in files."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from data.shell import write_command
from optimizer.atomic_write import write_output
from optimizer.cli.console import (
    Lines,
    facts_table,
    format_csv,
    format_json,
    plain_table,
    print_json,
    stdout,
)
from optimizer.cli.result import (
    importance_tables,
    print_answer,
    print_individual,
    print_result,
    result_json,
)
from optimizer.errors import ConfigError
from optimizer.evidence.judgement import (
    choose_member,
    describe_expected,
    expect_member,
    find_pick,
    read_judgement,
    read_opened_result,
    require_opened_result,
)
from optimizer.formatting import describe_formulas, format_count, number
from optimizer.report.summary import align_outcomes, compare_side_by_side
from optimizer.run.tables import (
    Columns,
    What,
    chosen_member,
    front_table,
    list_generations,
    list_individuals,
    newest_front,
    resume_command,
)
from optimizer.store import RunStore
from optimizer.store.caveats import describe_account
from optimizer.store.labels import Labels, read_labels
from optimizer.store.result import RunHeader, describe_certificate

if TYPE_CHECKING:
    from optimizer.run.compared import RunComparison
    from optimizer.verify import Checked

STUDY = ".journal"
"""Ending of a file that is to be an Optuna study."""


def print_run(path: Path, *, is_whole: bool, as_json: bool) -> None:
    """Print a run's result, or how far it got."""
    with RunStore.open(path) as store:
        result, judgement = read_opened_result(store)
        labels = read_labels(store.path)
        if as_json:
            recorded = result and result_json(result, judgement)
            known = {"header": store.header, "result": recorded, "status": store.status}
            print_json(known | asdict(labels))
            return
        if result is not None:
            print_result(result, judgement, is_whole=is_whole)
            _print_labels(stdout(), labels)
            print_answer(result, judgement)
            return
        summaries = list(store.generations())
        facts = {
            "run": store.run_id,
            "status": store.status,
            "strategy": store.header.get("strategy"),
            "data": store.header.get("data"),
            "generations": f"{number(max(len(summaries) - 1, 0))} of {number(store.planned)}",
            "front": number(len(newest_front(store).genomes)) if summaries else 0,
        }
        console = stdout()
        console.print(facts_table(facts))
        # A cell would part it.
        console.say(f"go on with: {resume_command(store.path)}")
        _print_labels(console, labels)


def _print_labels(console: Lines, labels: Labels) -> None:
    """Print tags and note of a run, a line each."""
    if labels.tags:
        console.say(f"tags {', '.join(labels.tags)}")
    if labels.note:
        console.say(f"note: {labels.note}")


def print_member(path: Path, member: int, *, as_json: bool) -> None:
    """Print one member of a run's front in full."""
    with RunStore.open(path) as store:
        result, judgement = require_opened_result(store)
    index = chosen_member(f"run '{result.run}'", len(result.front), member)
    chosen, pick, data = result.front[index], find_pick(result, judgement), result.data
    is_pick = pick is not None and pick.member == index
    if as_json:
        expected = expect_member(result, judgement, index)
        record = {"expected": expected and expected.payload(), **chosen.payload()}
        print_json({"run": result.run, "member": index, "is_pick": is_pick, **record})
        return
    console = stdout()
    console.say(f"{result.strategy} on {data.symbol} {data.timeframe}, member {index}")
    print_individual(console, chosen, data.windows, result.over_windows)
    console.print()
    console.say_all(describe_account(chosen, 1))
    backtest = write_command("backtest", Path(result.path), "--member", str(index))
    console.say(f"Its trades: {backtest}")
    console.say(f"On other bars: {backtest} --data OTHER")
    if pick is not None and not is_pick:
        if sentence := describe_expected(result, judgement, index):
            console.say(f"Expected of it: {sentence}")
        console.print()
        console.say("This member is not the pick, of which the verdict speaks:")
    print_answer(result, judgement)


def print_importance(path: Path, *, as_json: bool) -> None:
    """Print how much of each objective each gene explains, over the trials of a run."""
    # With what a search needs, which other texts do without.
    from optimizer.run.points import METHOD, measure_run_importance

    with RunStore.open(path) as store:
        importance, genes = measure_run_importance(store), RunHeader.read(store.header).gene_names
        run = store.run_id
    trials = next(iter(importance.values())).trials
    if as_json:
        document = {
            objective: {
                "together": shares.together,
                "noise": dict(zip(("alone", "beyond"), shares.noise, strict=True)),
                "genes": {
                    gene: {
                        "alone": float(shares.alone[index]),
                        "beyond": float(shares.beyond[index]),
                    }
                    for index, gene in enumerate(genes)
                },
            }
            for objective, shares in importance.items()
        }
        print_json({"run": run, "trials": trials, "method": METHOD, "objectives": document})
        return
    console = stdout()
    console.say(
        f"What genes explain, of the variance over {format_count(trials, 'feasible trial')}"
    )
    console.say("It describes where this search went, and says nothing of the market.", "dim")
    console.print()
    for table in importance_tables(importance, genes, console.width):
        console.print(table)
    console.print()
    console.say(
        f"{METHOD}; a dash: no more than shuffled values reach. A gene that is high alone "
        "and nothing beyond came along with others.",
        "dim",
    )


DEFAULT_SAMPLE = 500
"""Candidates beside the front in a study."""


def write_table(path: Path, to: Path, *, what: What, sample: int | None) -> str:
    """Write a table of a run to a file, of the kind of its ending."""
    if to.suffix != STUDY and to.suffix not in WRITERS:
        known = ", ".join([*WRITERS, STUDY])
        raise ConfigError(f"{to}: unknown kind of file; name it {known}; or .py, .pine with --as")
    with RunStore.open(path) as store:
        if to.suffix == STUDY:
            from optimizer.cli.study import write_study

            return write_study(store, to, DEFAULT_SAMPLE if sample is None else sample)
        if to.suffix == ".json" and what == "front":
            return _write_result(to, format_json(result_json(*require_opened_result(store))))
        return _write_result(to, WRITERS[to.suffix](_build_table(store, what)))


def _build_table(store: RunStore, what: What) -> Columns:
    if what == "front":
        return front_table(require_opened_result(store)[0])
    if what != "points":
        return list_generations(store) if what == "generations" else list_individuals(store)
    # Imported only here: it evaluates, which no other table needs.
    from optimizer.run.points import find_points, measure_points, points_table
    from optimizer.run.purposes import SHOW, restore_task

    task = restore_task(store, SHOW, {})
    return points_table(task, measure_points(task, find_points(store, task)))


def write_program(
    path: Path,
    to: Path,
    member: int | None,
    platform: str,
    flags: Mapping[str, object],
    *,
    is_schedule: bool,
) -> str:
    """Write a member of a run's front, or its schedule, as a program of another platform."""
    # Imported only here: they search and compile, which showing a run does not need.
    from optimizer.export.programs import ENDINGS, build_judged_schedule_program, build_program
    from optimizer.run.purposes import SHOW, restore_front

    wanted = ENDINGS[platform]
    if to.suffix != wanted:
        raise ConfigError(f"{to}: a program for {platform} is named *{wanted}")
    task, front = restore_front(path, SHOW, flags)
    with RunStore.open(path) as store:
        if is_schedule:
            judgement = read_judgement(store)
            made = None if judgement is None else judgement.schedule
            return _write_result(to, build_judged_schedule_program(task, made, path.name, platform))
        index = choose_member(store, len(front), member)
    program = build_program(task, front[index], f"Member {index} of run {path.name}.", platform)
    return _write_result(to, program)


def _write_result(to: Path, content: str | bytes) -> str:
    write_output(to, content)
    return f"written to {to}"


def _encode_rows(columns: Columns) -> str:
    rows = zip(*columns.values(), strict=True)
    return format_json([dict(zip(columns, row, strict=True)) for row in rows])


def _encode_parquet(columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


WRITERS: Mapping[str, Callable[[Columns], str | bytes]] = {
    ".csv": lambda columns: format_csv(list(columns), zip(*columns.values(), strict=True)),
    ".json": _encode_rows,
    ".parquet": _encode_parquet,
}
"""Kinds of files by the ending of their name."""


def print_comparison(
    comparisons: Sequence["RunComparison"],
    outcomes: Sequence[Mapping[str, str]],
    header: RunHeader,
) -> None:
    """Print what differs, by the header of the first, and how much of a common front each found."""
    console = stdout()
    console.print(_build_comparison(comparisons, outcomes, header.objectives))
    console.say_all(describe_formulas(header.formulas))
    for run in comparisons[1:]:
        lines = (*run.differs, *run.limits)
        if not run.is_comparable:
            console.say(f"Settings of {run.run} that differ from those of {comparisons[0].run}:")
        elif lines:
            console.say(f"{run.run} repeats the search of {comparisons[0].run}, but for:")
        for line in lines:
            console.say(f"  {line}")
    if all(run.is_measured_alike for run in comparisons):
        console.print(_build_beaten_table(comparisons))
    else:
        console.say(
            "Their fronts were measured on other bars or at other costs and cannot be held against "
            "each other: compare verdicts, and picks on held-out bars."
        )


def _build_comparison(
    comparisons: Sequence["RunComparison"],
    outcomes: Sequence[Mapping[str, str]],
    objectives: Sequence[str],
) -> Table:
    names = [run.run for run in comparisons]
    table = plain_table("", *names, right=names)
    for label, cells in (*compare_side_by_side(comparisons, objectives), *align_outcomes(outcomes)):
        table.add_row(label, *cells)
    return table


def _build_beaten_table(comparisons: Sequence["RunComparison"]) -> Table:
    headings = [f"of {run.run}" for run in comparisons]
    title = "Share of a front that another beats"
    table = plain_table("", *headings, right=headings, title=title)
    for index, run in enumerate(comparisons):
        shares = (
            "-" if index == other else f"{share:.0%}" for other, share in enumerate(run.beaten)
        )
        table.add_row(run.run, *shares)
    return table


MOST_LINES = 5
"""Of an error; the JSON has them all."""


def print_check(run: str, checked: "Checked", *, is_empty: bool) -> None:
    """Print the checks of a run without a fault."""
    console = stdout()
    if checked.problems:
        return
    whole = "the record is whole, " if checked.is_whole else ""
    console.say(f"run {run}: {whole}every digest is right")
    if is_empty:
        console.say("there is no generation to replay yet")
    console.say_all(checked.unchecked)
    if checked.certificate is not None:
        console.say(describe_certificate(checked.certificate))
    if checked.is_whole:
        console.say("its members and recorded candidates reach their figures again")


def join_lines(lines: tuple[str, ...]) -> str:
    """The first lines as one, and how many more there are."""
    left = len(lines) - MOST_LINES
    return "; ".join(lines[:MOST_LINES]) + (f"; and {left} more" if left > 0 else "")
