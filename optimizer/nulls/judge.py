"""Results of any search on the markets of a folder, judged: as good on how many copies?

The rank of the real market decides where the number of copies was fixed before the first look; once
copies were added after a look, the bet of `optimizer.evidence.betting` does, which holds whenever
one looks. Every other search that was judged with the folder counts once more.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Literal

from data.errors import list_some
from data.files import taking_turns
from data.plain import takes_plain
from data.shell import write_command
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import read_page
from optimizer.errors import ConfigError
from optimizer.evidence.betting import FURTHER_SEARCHES, MOST_P, count_needed, format_p, tally
from optimizer.evidence.null import Kind, NullKind, NullRecord, build_kind
from optimizer.evidence.statistic import MOST_DOUBT, shorten
from optimizer.evidence.verdict import describe_tally
from optimizer.nulls.folder import LOOKS, REAL, NullFolder, read_json
from optimizer.store.payload import Payload, encode

MOST_NAMED = 3


@dataclass(frozen=True)
class Look(Payload):
    """Results that were judged."""

    what = LOOKS

    when: str  # ISO time
    results: Mapping[str, float]  # by market

    def extends(self, earlier: "Look") -> bool:
        """True if its results are the earlier ones, perhaps with more markets."""
        return earlier.results.items() <= self.results.items()


@dataclass(frozen=True)
class NullVerdict(Payload):
    """Verdict on a search by its results on the real market and on the copies."""

    sentence: str
    grade: Literal["weak", "luck", "not_judged"]  # of `optimizer.formatting.GRADES`
    p: float  # of the kind that decides, times the looks
    form: Literal["rank", "any time"]  # of p
    looks: int  # searches that were judged with the folder, this one included
    real: str  # name of the real market
    value: float  # its result
    null: NullRecord
    notes: tuple[str, ...]  # what stands below the sentence, the next step last


@takes_plain(ConfigError)
def null_judge(folder: str | Path, results: Mapping[str, float] | str | Path) -> NullVerdict:
    """Say whether a search finds more on the real market than on copies without an edge.

    The look is kept before the seal opens.

    Args:
        folder: Folder that `null_markets` made.
        results: Number of each market, greater is better; or a CSV file of both columns.

    Returns:
        The verdict: its ``sentence``, ``p``, the ``real`` market and all results.

    Raises:
        ConfigError: When a market has no finite result, or there is no such market.
        StoreError: When the folder is damaged.
    """
    opened = NullFolder.open(Path(folder))
    if not isinstance(results, Mapping):
        results = read_results(Path(results))
    _check_results(opened, results)
    now = Look(datetime.now(UTC).isoformat(timespec="seconds"), {**results})
    with taking_turns(opened.path):
        earlier = _read_looks(opened)
        if all(look.results != now.results for look in earlier):
            known = [look.payload() for look in (*earlier, now)]
            write_whole(opened.path / LOOKS, encode(known, what=LOOKS))
    labels = opened.open_seal()
    looks = _count_searches([*earlier, now])
    is_rank = all(len(look.results) == len(results) for look in earlier)
    return _build_verdict(opened, results, labels, looks, is_rank=is_rank)


def read_results(path: Path) -> dict[str, float]:
    """Results of a CSV file of two columns, market and result, with or without a heading.

    Raises:
        ConfigError: When a row is none of these, or a market stands twice.
    """
    try:
        text = read_page(path, "no file of results")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None
    results: dict[str, float] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text, newline="")), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and _is_heading(cells)):
            continue
        if len(cells) != 2 or (value := _read_number(cells[1])) is None:
            raise ConfigError(f"{path}: row {number} must be a market and a number, got {row}")
        if cells[0] in results:
            raise ConfigError(
                f"{path}: market {cells[0]} has two results; give the one of its search"
            )
        results[cells[0]] = value
    return results


def _is_heading(cells: Sequence[str]) -> bool:
    return len(cells) == 2 and _read_number(cells[1]) is None


def _read_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _check_results(folder: NullFolder, results: Mapping[str, float]) -> None:
    """Refuse results of other markets, missing ones, and results that are no number."""
    if unknown := [name for name in results if name not in folder.markets]:
        raise ConfigError(f"{folder.path}: has no market {_name_some(unknown)}")
    if missing := [name for name in folder.markets if name not in results]:
        raise ConfigError(
            f"{len(missing)} of {len(folder.markets)} markets have no result: "
            f"{_name_some(missing)}; search each of them in the same way"
        )
    if wrong := [name for name, value in results.items() if not math.isfinite(value)]:
        raise ConfigError(
            f"the result of {_name_some(wrong)} is no finite number; for a search that finds "
            "nothing give the value of doing nothing"
        )


def _name_some(names: Sequence[str]) -> str:
    return list_some(names[:MOST_NAMED], len(names))


def _read_looks(folder: NullFolder) -> list[Look]:
    path = folder.path / LOOKS
    read = read_json(path) if path.exists() else []
    return [Look.read(look) for look in (read if isinstance(read, list) else [read])]


def _count_searches(looks: Sequence[Look]) -> int:
    """Number of searches behind looks; results of more markets are no new search."""
    newest: list[Look] = []
    for look in looks:
        newest = [other for other in newest if not look.extends(other)] + [look]
    return len(newest)


def _build_verdict(
    folder: NullFolder,
    results: Mapping[str, float],
    labels: Mapping[str, str],
    looks: int,
    *,
    is_rank: bool,
) -> NullVerdict:
    by_label = {label: results[name] for name, label in labels.items()}
    (real,) = (name for name, label in labels.items() if label == REAL)
    value, copies = results[real], folder.copies
    kinds: dict[Kind, NullKind] = {}
    for kind in folder.manifest.kinds:
        values = [by_label[f"{kind} {number}"] for number in range(1, copies + 1)]
        kinds[kind] = build_kind(tally(value, values), value, values)
    null = NullRecord(copies, folder.manifest.keep, kinds["shuffled"], kinds.get("mirrored"))
    p = min(1.0, looks * max(_compute_p(kind, is_rank=is_rank) for kind in kinds.values()))
    at_least = max(kind.strength.at_least for kind in kinds.values())
    needed = count_needed(at_least, 1 / MOST_DOUBT) - copies
    grade: Literal["weak", "luck", "not_judged"] = "luck" if at_least else "not_judged"
    answer = "probably luck" if at_least else "too few copies to tell"
    if is_more := p <= MOST_DOUBT:
        grade, answer, needed = "weak", f"more than luck on these bars at {MOST_DOUBT:g}", 0
    form: Literal["rank", "any time"] = "rank" if is_rank else "any time"
    shown = f"p = {format_p(p)} by rank" if is_rank else f"p = {format_p(p)} at any time"
    sentence = f"{_count_copies(kinds)}: {answer} ({shown})."
    notes = [_describe_results(real, null)]
    if looks > 1:
        notes.append(f"{looks} searches were judged with this folder: p counts {looks} times.")
    if is_more and p > MOST_P:
        needed = count_needed(at_least) - copies
        notes.append(f"A verdict of `judge` asks for p of at most {MOST_P:g}.")
    # The bet of one search cannot make up for several.
    if looks == 1 and 0 < needed <= FURTHER_SEARCHES:
        more = write_command("null", "export", "--more", str(needed), "DATA", folder.path)
        notes.append(f"Next: {more}; search the new markets alike, then judge all results.")
    return NullVerdict(sentence, grade, p, form, looks, real, value, null, tuple(notes))


def _compute_p(kind: NullKind, *, is_rank: bool) -> float:
    counted = kind.tally
    return (counted.at_least + 1) / (counted.searches + 1) if is_rank else counted.p


def _count_copies(kinds: Mapping[Kind, NullKind]) -> str:
    """Copies of each kind on which the search did as well."""
    first, *rest = (describe_tally(kind.tally, name) for name, kind in kinds.items())
    return " and ".join((first, *(f"{text[0].lower()}{text[1:]}" for text in rest)))


def _describe_results(real: str, null: NullRecord) -> str:
    values = [value for kind in null.kinds.values() for value in kind.strengths]
    greatest, middle = (
        shorten(of(value for value in values if value is not None)) for of in (max, median)
    )
    return (
        f"The real market is {real}, with {shorten(null.shuffled.strength.value)}; of the copies "
        f"the median is {middle}, the greatest {greatest}."
    )
