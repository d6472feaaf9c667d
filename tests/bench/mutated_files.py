"""Mutated files, read with no options, and with every option that the reader then advises.

    python -m tests.bench.mutated_files 20000 [--seed 0] [--processes 2]

A file is read rightly where bars equal one of its readings in every time and value. It prints how
often each kind of file was read rightly or refused, and the first seeds of all that went wrong.
"""

import argparse
import re
import tempfile
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from zoneinfo import available_timezones

from data import LoadOptions, load_bars, quirks_of
from data.errors import DataError
from tests.support.mutated_files import draw_file

NOW_NS = 1_790_000_000 * 10**9
MOST_STEPS = 3
SHOWN = 5

OPTIONS = {
    "column": r"(?:'[^']*'|[a-z]+=[^\s;,:)]+)", "tz": r"[A-Z]\w+(?:/[\w+-]+)*",
    "time-format": "'[^']*'", "decimal": "[.,](?= |$)", "stamped": "(?:open|close)",
    "timeframe": "[0-9]+[smhdw]", "source-timeframe": "[0-9]+[smhdw]",
    "ambiguous": "(?:earlier|later)", "sort": "", "dedupe": "", "drop-bad-bars": "",
}  # fmt: skip
"""Options of reading that a message may advise, and patterns of their values."""

PIECE = "|".join(rf"--{name}\b {value}" if value else rf"--{name}\b"
                 for name, value in OPTIONS.items())  # fmt: skip
MARKET = r"bars\.\w+(?:\.\w+)?#[^\s;,)]+"
BUNDLE = re.compile(rf"(?:{MARKET}|{PIECE})(?:(?: and)? (?:{PIECE}))*")
CHOICE = "reads dots as marks of thousands"
"""Ends a note about two readings, between which no file can decide."""

ENDS = ("right", "refused", "helped", "wrong advice", "silent", "broken")
WRONG = ENDS[3:]


@dataclass(frozen=True)
class Verdict:
    """One of `ENDS`, and how it came about."""

    end: str
    trail: tuple[str, ...] = ()


def judge_file(file, folder):
    """Read a file, and follow each advice."""
    path = Path(folder) / file.name
    path.write_bytes(file.content)
    return _read(file, str(path), LoadOptions(), MOST_STEPS)


def _read(file, spec, options, steps):
    """The end of reading so; advice is followed for some steps."""
    try:
        with warnings.catch_warnings(action="error"):
            bars = load_bars(spec, options, now_ns=NOW_NS)
        said = "\n".join((*bars.notes, *quirks_of(bars)))
    except DataError as error:
        return _follow_refusal(file, spec, options, steps, str(error))
    except Exception as error:
        return Verdict("broken", (f"{type(error).__name__}: {error}",))
    is_right = any(reading.fits(bars, said) for reading in file.readings)
    ends = [
        _prefix(line, _read(file, *changed, steps - 1))
        for line in said.splitlines() if not is_right or CHOICE not in line
        for changed in list_advised(line, spec, options, file) if steps > 0 or CHOICE in line
    ]  # fmt: skip
    if is_right:
        return next((end for end in ends if end.end in WRONG), Verdict("right"))
    if any(end.end in ("right", "helped") for end in ends):
        return Verdict("right")
    shown = f"{len(bars)} bars of {bars.timeframe}, {bars.symbol}: {said!r}"
    return Verdict("silent", (shown,))


def _follow_refusal(file, spec, options, steps, message):
    if "\n" in message:
        return Verdict("broken", (message,))
    advised = list_advised(message, spec, options, file) if steps > 0 else []
    ends = [_read(file, *changed, steps - 1) for changed in advised]
    if any(end.end in ("right", "helped") for end in ends):
        return Verdict("helped", (message,))
    # Where there are no bars, a choice is right that leads to none.
    is_choice = not file.readings and any(end.end == "refused" for end in ends)
    wrong = next((end for end in ends if end.end in WRONG), None)
    if wrong is None or (is_choice and wrong.end != "broken"):
        return Verdict("refused", (message,))
    return _prefix(message, wrong)


def _prefix(line, verdict):
    name = "wrong advice" if verdict.end == "silent" else verdict.end
    return Verdict(name, (line, *verdict.trail))


def list_advised(message, spec, options, file):
    """The spec and options of each alternative that a message advises.

    A person puts the name of the column in place of NAME, knows the zone of the clock, and knows
    that there is a volume.
    """
    if "volume" in file.names:
        message = message.replace(" (or --column volume=none)", "")
    if file.zone:
        message = message.replace("--tz names another", f"--tz {file.zone}")
    for meaning, name in file.names.items():
        message = message.replace(f"--column {meaning}=NAME", f"--column '{meaning}={name}'")
    texts = [match[0] for match in BUNDLE.finditer(message)]
    texts += [text.replace("earlier", "later") for text in texts if "(or later)" in message]
    changed = []
    for text in dict.fromkeys(texts):
        market = re.match(MARKET, text)
        path = Path(spec.partition("#")[0])
        new = f"{path.parent}/{market[0]}" if market else spec
        values = _parse_options(text, options)
        if values is not None and (new, values) != (spec, options):
            changed.append((new, values))
    return changed


def _parse_options(text, options):
    """Options with those of a text; None where one is the name of no zone."""
    columns, values = dict(options.columns), {}
    for piece in re.findall(PIECE, text):
        name, _, value = piece.removeprefix("--").partition(" ")
        value = value.strip("'")
        if name == "column":
            meaning, _, column = value.partition("=")
            columns[meaning] = column
        elif name == "tz" and value.partition("+")[0] not in available_timezones():
            return None
        else:
            values[name.replace("-", "_")] = value or True
    assert values.keys() <= {field.name for field in fields(LoadOptions)}
    return replace(options, columns=columns, **values)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--end", choices=ENDS, help="list files of this end, too")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    counts, shown = defaultdict(Counter), defaultdict(list)
    seeds = range(asked.seed, asked.seed + asked.files)
    with ProcessPoolExecutor(asked.processes) as pool:
        for seed, harm, dialect, verdict in pool.map(_judge_seed, seeds, chunksize=50):
            kind = (harm, dialect.partition(",")[0])
            for counted in (kind, ("all", "")):
                counts[counted][verdict.end] += 1
            if verdict.end in (*WRONG, asked.end):
                shown[verdict.end, *kind].append((seed, dialect, verdict.trail))
    print(f"{'harm':18} {'dialect':15}", *(f"{end:>12}" for end in ENDS))
    for (harm, dialect), ends in sorted(counts.items()):
        print(f"{harm:18} {dialect:15}", *(f"{ends[end]:12}" for end in ENDS))
    for kind, cases in sorted(shown.items()):
        print(f"\n{', '.join(kind)}: {len(cases)}")
        for seed, dialect, trail in cases[:SHOWN]:
            print(f"  seed {seed} ({dialect})", *trail, sep="\n    ")


def _judge_seed(seed):
    file = draw_file(seed)
    with tempfile.TemporaryDirectory() as folder:
        return seed, file.harm, file.dialect, judge_file(file, folder)


if __name__ == "__main__":
    main()
