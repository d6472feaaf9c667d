"""runs: list, show, export and verify what was recorded."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.table import Table

from data.errors import DataError
from engine.parity import certify
from optimizer.commands.console import facts_table, stdout
from optimizer.commands.evolve import print_result, refuse_red
from optimizer.commands.output import csv_text, print_json, without_nan, write_whole
from optimizer.errors import ConfigError, StoreError
from optimizer.recorded import recorded_front
from optimizer.runs import RunStore, find_run, list_runs
from optimizer.shown import counted, number
from optimizer.workflow import recorded_result


def list_command(runs: Path, *, as_json: bool) -> None:
    """Print all runs, oldest first."""
    found = list_runs(runs)
    if as_json:
        print_json([asdict(run) | {"path": str(run.path)} for run in found])
        return
    if not found:
        stdout().say(f"there are no runs in {runs}; start one with: python -m optimizer evolve")
        return
    table = Table(box=None)
    for name in ("run", "status", "strategy", "data"):
        table.add_column(name, overflow="fold")
    table.add_column("generations", justify="right")
    table.add_column("front", justify="right")
    table.add_column("note", overflow="fold")
    for run in found:
        done = f"{max(run.generations - 1, 0)} of {number(run.planned)}"
        front = number(run.front_size)
        table.add_row(run.id, run.status, run.strategy, run.data, done, front, run.damaged or None)
    stdout().print(table)


def show_command(name: str, runs: Path, *, as_json: bool) -> None:
    """Print a run's result, or how far it got."""
    with RunStore.open(find_run(runs, name)) as store:
        if as_json:
            found = {"header": store.header, "result": recorded_result(store)}
            print_json({**found, "status": store.status})
            return
        result = recorded_result(store)
        if result is not None:
            print_result(result)
            return
        summaries = list(store.generations())
        facts = {
            "run": store.run_id,
            "status": store.status,
            "strategy": store.header.get("strategy"),
            "data": store.header.get("data"),
            "generations": f"{len(summaries) - 1} of {store.header.get('generations')}",
            "front": summaries[-1].front if summaries else 0,
            "go on with": f"python -m optimizer evolve --resume {store.path}",
        }
        stdout().print(facts_table(facts))


def export_command(name: str, to: Path, runs: Path) -> None:
    """Write a finished run's front as CSV or JSON."""
    with RunStore.open(find_run(runs, name)) as store:
        result = recorded_result(store)
        if result is None:
            raise StoreError(
                f"run '{store.run_id}' is {store.status} and has no front yet: "
                f"python -m optimizer evolve --resume {store.path}"
            )
    if to.suffix == ".json":
        import json

        write_whole(to, json.dumps(without_nan(result), indent=2, allow_nan=False) + "\n")
    elif to.suffix == ".csv":
        write_whole(to, _front_csv(result))
    else:
        raise ConfigError(f"{to}: unknown kind of file; name it .csv or .json")
    stdout().say(f"written to {to}")


def verify_command(name: str, runs: Path, individuals: int) -> None:
    """Check a run's record and replay members of its front; anything wrong is an error."""
    path = find_run(runs, name)
    console = stdout()
    with RunStore.open(path) as store:
        problems = store.verify()
        if problems:
            raise StoreError(f"run '{store.run_id}' is damaged: " + "; ".join(problems))
        console.say(f"run {store.run_id}: the record is whole, every digest is right")
    if not individuals:
        return
    try:
        task, genomes = recorded_front(path, {})
    except (DataError, StoreError) as error:
        console.say(f"members were not replayed: {error}")
        return
    # Spread over the front, whose members are sorted by genome.
    count = min(individuals, len(genomes))
    chosen = genomes[np.linspace(0, len(genomes) - 1, count).round().astype(int)]
    certificate = certify(task.full_engine(device="cpu"), chosen).as_dict()
    refuse_red(certificate)
    console.say(
        f"{counted(count, 'member')} replayed by the reference, "
        f"{counted(certificate['trades'], 'trade')}, 0 mismatches"
    )


def _front_csv(result: Mapping[str, object]) -> str:
    front = result["front"]
    members = list(front) if isinstance(front, list) else []
    parts = ("genes", "objectives", "metrics")
    columns = [f"{part}.{name}" for part in parts for name in (members[0][part] if members else {})]
    rows = [[value for part in parts for value in member[part].values()] for member in members]
    return csv_text(columns, rows)
