"""runs: list, show, label, export, compare, check and delete records."""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from data.shell import write_command
from optimizer.cli import shared
from optimizer.cli.console import print_json, stdout
from optimizer.cli.flags import argument, config_flags, option
from optimizer.cli.notes import note
from optimizer.errors import ConfigError, StoreError
from optimizer.formatting import GRADES, Grade
from optimizer.printable import clean_text

app = shared.command_group(
    "Recorded runs: list, show, tag, note, export, compare, verify, source, delete."
)

MOST_NAMED = 3
"""Files beside a run that are named before the others are counted."""


@app.command("list")
def list_recorded(
    *,
    runs: shared.Runs = Path("runs"),
    sort: Annotated[
        shared.Order,
        option(
            "--sort",
            "Oldest first, or greatest first by verdict or a number of the pick.",
            "|".join(get_args(shared.Order)),
        ),
    ] = "created",
    verdict: Annotated[
        Grade | None,
        option("--verdict", "Only finished runs of this grade.", "|".join(GRADES)),
    ] = None,
    symbol: Annotated[
        str | None, option("--symbol", "Only runs that search or searched on it.", "NAME")
    ] = None,
    tag: Annotated[
        list[str] | None, option("--tag", "Only runs with this tag; of several, all.", "WORD")
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Recorded runs with verdict, pick, tags and note, oldest first."""
    from optimizer.cli.listing import choose_runs, print_runs
    from optimizer.evidence.ledger import build_ledger
    from optimizer.store.listing import list_runs
    from optimizer.store.searches import list_noted

    known, where = list_runs(runs), () if runs == Path("runs") else ("--runs", runs)
    chosen = choose_runs(known, verdict, symbol, tag or (), order=sort)
    if as_json:
        print_json([{"id": run.id} | asdict(run) | {"path": str(run.path)} for run in chosen])
    elif not known:
        stdout().say(
            f"there are no runs in {runs}; start one with: {write_command('evolve', *where)}"
        )
    elif not chosen:
        stdout().say(
            f"of {len(known):,} in {runs} there is no such run: see them all with "
            f"{write_command('runs', 'list', *where)}"
        )
    else:
        print_runs(chosen)
        stdout().say(build_ledger(known, list_noted(runs)).describe())


@app.command("tag")
def tag_run(
    run: shared.RunName,
    words: Annotated[list[str] | None, argument("Tags to add, one word each.", "WORD")] = None,
    *,
    remove: Annotated[
        list[str] | None, option("--remove", "A tag to take away; the flag repeats.", "WORD")
    ] = None,
    runs: shared.Runs = Path("runs"),
) -> None:
    """Give a run tags, by which runs list --tag finds it, or take some away."""
    from optimizer.store import find_run
    from optimizer.store.labels import change_labels, read_labels

    path = find_run(runs, run)
    labels = change_labels(path, add=words or (), remove=remove or ()) if words or remove else None
    labels = labels or read_labels(path)
    add = write_command("runs", "tag", path, "WORD")
    tags = ", ".join(labels.tags) or f"none; add some with: {add}"
    stdout().say(f"{path.name}: tags {tags}")


@app.command("note")
def write_note(
    run: shared.RunName,
    text: Annotated[str | None, argument('The note, in quotes; "" removes it.', "TEXT")] = None,
    *,
    runs: shared.Runs = Path("runs"),
) -> None:
    """Set the note of a run, one line that runs list and runs show print; or print it."""
    from optimizer.store import find_run
    from optimizer.store.labels import change_labels, read_labels

    path = find_run(runs, run)
    labels = read_labels(path) if text is None else change_labels(path, note=text)
    stdout().say(f"{path.name}: {labels.note or 'no note'}")


@app.command("show")
def show_run(
    run: shared.RunName,
    *,
    runs: shared.Runs = Path("runs"),
    member: shared.Member = None,
    front: shared.Front = "few",
    importance: Annotated[
        bool, option("--importance", "How much of each objective each gene explains.")
    ] = False,
    as_json: shared.AsJson = False,
) -> None:
    """Show a run's result; or one member of its front in full, or the weight of its genes."""
    from optimizer.cli.run_texts import print_importance, print_member, print_run
    from optimizer.store import find_run

    if importance and member is not None:
        raise ConfigError("--importance is of all trials, --member of one: leave one out")
    path = find_run(runs, run)
    if importance:
        print_importance(path, as_json=as_json)
    elif member is not None:
        print_member(path, member, as_json=as_json)
    else:
        print_run(path, is_whole=front == "all", as_json=as_json)


@app.command("export")
@config_flags("data")
def export_run(  # noqa: PLR0913 - one argument a flag
    run: shared.RunName,
    to: Annotated[
        Path,
        argument(
            "File to write: .csv, .json, .parquet, .journal (Optuna), .pine; .py with --as.", "FILE"
        ),
    ],
    *,
    flags: dict[str, object],
    runs: shared.Runs = Path("runs"),
    what: Annotated[
        Literal["front", "generations", "individuals", "points"] | None,
        option(
            "--what",
            "Which table, front if unset; points are those of a lattice, with all metrics.",
            "front|generations|individuals|points",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        option(
            "--sample", "Candidates beside the front in a .journal, 500 if unset.", "COUNT", min=0
        ),
    ] = None,
    member: shared.Member = None,
    platform: Annotated[
        shared.Platform | None,
        option(
            "--as", "A member as a program of this platform.", "|".join(get_args(shared.Platform))
        ),
    ] = None,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Its schedule as such a program, not one member.")
    ] = False,
    trust: shared.Trust = False,
) -> None:
    """Write a run's record to a file, exactly; or a member as another platform's program."""
    from optimizer.cli.run_texts import write_program, write_table
    from optimizer.run.trust import find_trusted

    if to.suffix == ".pine":
        platform = platform or "pine"
    is_study = platform is None and to.suffix == ".journal"
    if sample is not None and not is_study:
        raise ConfigError("--sample is of a .journal alone, other files have all: leave it out")
    if what is not None and (is_study or platform is not None):
        raise ConfigError("--what is of a table, a .journal or a program has none: leave it out")
    if flags and platform is None:
        raise ConfigError("--data is where a program's bars are now: add --as, or leave it out")
    if schedule and member is not None:
        raise ConfigError("--schedule writes the picks of all steps: leave out --member")
    path = find_trusted(run, runs, trust=trust)
    if platform is not None:
        made = write_program(path, to, member, platform, flags, is_schedule=schedule)
        stdout().say(made)
    elif schedule or member is not None:
        raise ConfigError("--member or --schedule is what a program trades: add --as")
    else:
        stdout().say(write_table(path, to, what=what or "front", sample=sample))


@app.command("compare")
def compare_recorded(
    names: Annotated[list[str], argument("Two runs or more.", "RUN")],
    *,
    runs: shared.Runs = Path("runs"),
    as_json: shared.AsJson = False,
) -> None:
    """Show how runs differ, and which front is better."""
    from optimizer.cli.run_texts import print_comparison
    from optimizer.evidence.judgement import read_opened_result
    from optimizer.report.summary import describe_outcome
    from optimizer.run.compared import compare_runs
    from optimizer.store import RunStore, find_run
    from optimizer.store.result import RunHeader

    paths = [find_run(runs, name) for name in names]
    if len(paths) < 2 or len({path.resolve() for path in paths}) < len(paths):
        raise ConfigError("name two runs or more, each once")
    with ExitStack() as opened:
        stores = [opened.enter_context(RunStore.open(path)) for path in paths]
        header = RunHeader.read(stores[0].header)
        comparisons = compare_runs(stores)
        known = [read_opened_result(store) for store in stores]
        outcomes = [{} if result is None else describe_outcome(result, j) for result, j in known]
    if as_json:
        judged = [judgement and judgement.expected for _, judgement in known]
        rows = [
            asdict(run) | {"expected": expected and expected.payload()}
            for run, expected in zip(comparisons, judged, strict=True)
        ]
        print_json({"objectives": header.objectives, "runs": rows})
    else:
        print_comparison(comparisons, outcomes, header)


@app.command("delete")
def remove_run(
    run: shared.RunName,
    *,
    runs: shared.Runs = Path("runs"),
    yes: Annotated[bool, option("--yes", "Do it; there is no way back.")] = False,
) -> None:
    """Remove a run from the disk; only with --yes, and never during its search."""
    from data.errors import list_some
    from optimizer.store import delete_run, find_run, list_foreign_files, list_run_files
    from optimizer.store.listing import sweep_drafts

    # A removal that was killed may have left drafts of this very run.
    for folder in (runs, Path(run).parent) if yes else ():
        sweep_drafts(folder)
    path = find_run(runs, run)
    size = sum(file.lstat().st_size for file in list_run_files(path))
    target = f"run '{path.resolve().name}' in {path}, {size / 1e6:,.1f} MB"
    foreign = [str(file.relative_to(path)) for file in list_foreign_files(path)]
    others = list_some(foreign[:MOST_NAMED], len(foreign))
    rest = f"; what is not of the run stays: {others}" if foreign else ""
    if not yes:
        raise ConfigError(f"{target}, would be removed for ever{rest}; if that is meant, add --yes")
    delete_run(path)
    stdout().say(f"removed {target}{rest}")


@app.command("verify")
@config_flags("data")
def verify_run(
    run: shared.RunName,
    *,
    flags: dict[str, object],
    runs: shared.Runs = Path("runs"),
    individuals: Annotated[int, option("--individuals", "Members to replay.", "COUNT", min=0)] = 5,
    trust: shared.Trust = False,
    as_json: shared.AsJson = False,
) -> None:
    """Check a run's digests, and replay its front; --data says where its bars are now."""
    from optimizer.cli.run_texts import join_lines, print_check
    from optimizer.run.trust import find_trusted
    from optimizer.store import RunStore
    from optimizer.verify import check_run

    with RunStore.open(find_trusted(run, runs, trust=trust)) as store:
        run_id, checked = store.run_id, check_run(store, flags, individuals)
        is_empty = not store.generations()
    if as_json:
        print_json(
            {
                "run": run_id,
                "is_whole": checked.is_whole,
                "problems": checked.problems,
                "unchecked": checked.unchecked,
                "certificate": checked.certificate and checked.certificate.as_dict(),
            }
        )
    else:
        print_check(run_id, checked, is_empty=is_empty)
    if checked.problems:
        raise StoreError(f"run '{run_id}' is damaged: {join_lines(checked.problems)}")
    if checked.unchecked:
        raise StoreError(
            f"run '{run_id}' is not whole here: {join_lines(checked.unchecked)}; --individuals 0 "
            "checks the record alone"
        )


@app.command("source")
def print_source(run: shared.RunName, *, runs: shared.Runs = Path("runs")) -> None:
    """Print the text of the file that a run's strategy came from."""
    from optimizer.store import RunStore, find_run

    with RunStore.open(find_run(runs, run)) as store:
        file = store.header.get("strategy_file")
    if not isinstance(file, dict):
        raise ConfigError(f"run '{run}' has a strategy that came from no file")
    text = str(file.get("text", ""))
    # The text may come from anywhere: signs that command a terminal are not printed.
    shown = clean_text(text)
    if shown != text:
        note("signs that command a terminal are shown as ?; `runs show --json` has the exact text")
    sys.stdout.write(shown)
