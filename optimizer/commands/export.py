"""runs export: a run as CSV, JSON, Parquet, or a study that Optuna's dashboard opens."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from optimizer.commands.console import stdout
from optimizer.commands.output import csv_text, without_nan
from optimizer.errors import ConfigError
from optimizer.runs import RunStore, find_run
from optimizer.session.exported import Columns, What, require_result, table_of
from optimizer.written import write_whole

STUDY = ".journal"
"""Ending of a file that is to be an Optuna study."""


def export_command(name: str, to: Path, runs: Path, *, what: What, sample: int) -> None:
    """Write what a run recorded to a file, of the kind that its name says."""
    if to.suffix != STUDY and to.suffix not in WRITERS:
        known = ", ".join([*WRITERS, STUDY])
        raise ConfigError(f"{to}: unknown kind of file; name it {known}")
    with RunStore.open(find_run(runs, name)) as store:
        if to.suffix == STUDY:
            from optimizer.commands.study import write_study

            line = write_study(store, to, sample)
        elif to.suffix == ".json" and what == "front":
            line = _written(to, _json(require_result(store).payload()))
        else:
            line = _written(to, WRITERS[to.suffix](table_of(store, what)))
    stdout().say(line)


def _written(to: Path, content: str | bytes) -> str:
    write_whole(to, content)
    return f"written to {to}"


def _csv(columns: Columns) -> str:
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def _rows_json(columns: Columns) -> str:
    rows = zip(*columns.values(), strict=True)
    return _json([dict(zip(columns, row, strict=True)) for row in rows])


def _json(value: object) -> str:
    return json.dumps(without_nan(value), indent=2, allow_nan=False) + "\n"


def _parquet(columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


WRITERS: Mapping[str, Callable[[Columns], str | bytes]] = {
    ".csv": _csv,
    ".json": _rows_json,
    ".parquet": _parquet,
}
"""Kinds of files by the ending of their name."""
