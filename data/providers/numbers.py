"""Prices and volumes of a file to float64: read exactly, never by way of a local number format."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import SHOWN, Floats
from data.errors import TableError, list_some
from data.providers.time_forms import all_match

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING_WORDS = """
    na n/a nan -nan null (null) none (none) nil nat <na> \\n missing
    #n/a #na #div/0! #value! #ref! #num! #num #name? #null! #error! #n/d #nv #wert! #bezug! #zahl!
    #valeur! #nombre! #valore! #rif! #valor! #\u00a1valor! #\u00a1div/0! #\u00a1ref! #\u00a1num!
    1.#qnan -1.#qnan 1.#ind -1.#ind 1.#snan -1.#snan 1.#nan -1.#nan 1.#inf -1.#inf
    nan(ind) -nan(ind) nan(snan) -nan(snan)
    - -- --- \u2013 \u2014 \u2212 . .. ... \u2026 * ** ? : nd n/d n.d. n.a. n.a n/m n/av
"""
"""Words of databases, of spreadsheets in several languages, of C runtimes and of vendors."""
MISSING = frozenset(("", *MISSING_WORDS.split()))
"""Words for a missing number, in lower case."""
NO_NUMBER = f"(?i)^(?:{'|'.join(map(re.escape, sorted(MISSING)))})$"
INFINITE = re.compile(r"[+-]?inf(inity)?")

POINT, COMMA = ".", ","

PROOFS = {
    COMMA: r",(?:[0-9]{1,2}|[0-9]{4,})[^0-9,.]*$|\.[0-9]{3}[.,]",
    POINT: r"\.(?:[0-9]{1,2}|[0-9]{4,})[^0-9,.]*$|,[0-9]{2,3}[,.]",
}
"""Patterns that only a decimal comma, or only a decimal point, can leave behind."""

SETTLED = f"{PROOFS[POINT]}|[0-9]{{4}}"
"""Numbers that leave no thousands to dots."""

DOTTED = r"[0-9]{1,3}(?:\.[0-9]{3})*"
"""Whole numbers whose thousands dots may part, or numbers of three decimals."""

THIRTY_SECONDS = "[0-9]{2,3}['\u2019 -](?:[0-2][0-9]|3[01])[0257]?"
EIGHTHS = {"": 0.0, "0": 0.0, "2": 0.25, "5": 0.5, "7": 0.75}
"""Prices of bonds: whole, thirty-seconds, and their quarters by the first digit."""

CURRENCY = r"[$\x{20AC}\x{A3}\x{A5}]"
PREFIX, SUFFIX = rf"^([+-]?){CURRENCY}? ?", rf"([0-9])[ \x{{A0}}\x{{202F}}]{CURRENCY}$"
GROUPED = {
    POINT: r"^[+-]?(?:[0-9]{1,3}(?:[, '\x{2019}\x{A0}\x{202F}][0-9]{3})+|"
    r"[0-9]{1,2}(?:,[0-9]{2})*,[0-9]{3})(?:\.[0-9]*)?(?:e[0-9]+)?$",
    COMMA: r"^[+-]?(?:[0-9]{1,3}(?:[. '\x{2019}\x{A0}\x{202F}][0-9]{3})*(?:,[0-9]*)?|[0-9]+,[0-9]*)"
    r"(?:e[0-9]+)?$",
}
SCALES = (("[kK]", "e3"), ("[mM]", "e6"), ("[bB]", "e9"), ("[tT]", "e12"))


def read_numbers(column: pa.Array, name: str, where: str, decimal: str = POINT) -> Floats:
    """Read a column of numbers.

    Each of [N] float64 is the nearest to the number written; NaN where missing, infinite where
    too large.

    Raises:
        TableError: When a value is no number, or whole and too large to be held exactly.
    """
    label = f"{where}: column {name!r}"
    if pa.types.is_string(column.type):
        return _from_text(column, label, decimal)
    if pa.types.is_decimal(column.type):
        # By way of text: pyarrow's own conversion multiplies, and rounds twice.
        return to_array(column.cast(pa.string()).cast(pa.float64()), np.nan)
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    # A column without a single value has a type of its own.
    if not is_number and not pa.types.is_null(column.type):
        raise TableError(f"{label} holds {column.type}, which is no number")
    try:
        exact = column.cast(pa.float64())
    except pa.ArrowInvalid:
        raise TableError(f"{label} holds whole numbers beyond 2^53, which lose digits") from None
    return to_array(exact, np.nan)


def to_array(column: pa.Array, missing: float) -> npt.NDArray[Any]:
    """The numbers [N] of an int64 or float64 column, read-only, `missing` where one is missing."""
    if column.null_count:
        filled: npt.NDArray[Any] = pc.fill_null(column, missing).to_numpy(zero_copy_only=False)
        return filled
    # pyarrow's own way imports pandas, which takes longer than to read most files.
    return np.from_dlpack(column)


def find_decimal(columns: Mapping[str, pa.Array], chosen: str | None, where: str) -> str:
    """The mark that begins decimals in a file's text columns, dot or comma; `chosen` settles it."""
    texts = {name: column for name, column in columns.items() if pa.types.is_string(column.type)}
    with_comma = {name: column for name, column in texts.items() if _has(column, ",")}
    if chosen is not None or not with_comma:
        return chosen or POINT
    proven = {
        mark: any(_has(column, pattern) for column in texts.values())
        for mark, pattern in PROOFS.items()
    }
    if proven[COMMA] != proven[POINT]:
        mark = COMMA if proven[COMMA] else POINT
        _refuse_doubtful(texts, mark, where)
        return mark
    name, column = next(iter(with_comma.items()))
    example = pc.filter(column, pc.match_substring_regex(column, ","))[0].as_py()[:40]
    raise TableError(
        f"{where}: column {name!r} holds numbers such as {example!r}; --decimal . or --decimal , "
        "says which mark begins the decimals"
    )


def refuse_thirty_seconds(columns: Mapping[str, pa.Array], chosen: str | None, where: str) -> None:
    """Refuse prices such as ``110'165``, which is 110 and 16.5 thirty-seconds, or 110,165.

    `columns` hold prices [N]; a mark of decimals that is `chosen` settles it.
    """
    for name, column in columns.items():
        first = _first(column) if pa.types.is_string(column.type) else ""
        # The first price decides for most columns.
        if not re.fullmatch(THIRTY_SECONDS, first):
            continue
        texts = bare_numbers(column)
        is_fraction = all_match(texts, f"^{THIRTY_SECONDS}$")
        has_thousands = re.fullmatch(r"[0-9]+['\u2019 ][0-9]{3}", first) is not None
        if not is_fraction or (chosen is not None and has_thousands):
            continue
        whole, ticks = re.split(r"\D", first)
        price = int(whole) + (int(ticks[:2]) + EIGHTHS[ticks[2:]]) / 32
        read = f"is {price:.9g} in thirty-seconds"
        if has_thousands:
            read += f" and {whole}{ticks} in thousands; --decimal . reads thousands"
        raise TableError(
            f"{where}: column {name!r} holds prices such as {first!r}, which {read}; "
            "write thirty-seconds as decimals"
        )


def note_dots(
    names: Iterable[str], read: Callable[[str], pa.Array], where: str, *, is_settled: bool = False
) -> tuple[str, ...]:
    """A note on columns such as ``42.195``: do their dots begin decimals or part thousands?

    `read` gives the text [N] of a column. None where another number of the file settles it.

    Raises:
        TableError: Where dots part thousands: ``1.230.000``, or ``1.230`` beside ``985``, as no
            program writes both with decimals.
    """
    examples = {
        name: example for name in names if (example := _find_dotted(read(name), name, where))
    }
    if not examples or is_settled or any(_has(read(name), SETTLED) for name in names):
        return ()
    name, example = next(iter(examples.items()))
    return (
        f"numbers such as {example} in column {name!r} are read as {float(example):.12g}; "
        "--decimal , reads dots as marks of thousands",
    )


def _find_dotted(column: pa.Array, name: str, where: str) -> str:
    """The first number of a column with a dot that may part thousands; empty without one."""
    # The first number decides for most columns.
    if not re.fullmatch(DOTTED, _first(column)) or not _has(column, "[.]"):
        return ""
    bare = bare_numbers(column)
    # 0 may be a number that is not there.
    if pc.all(pc.match_substring_regex(bare, f"^{DOTTED}$")).as_py():
        for proof in (("[.][0-9]{3}[.]",), ("[.][0-9]{2}0$", "^[1-9][0-9]{0,2}$")):
            if not all(_has(bare, kind) for kind in proof):
                continue
            rows = (pc.filter(bare, pc.match_substring_regex(bare, kind)) for kind in proof)
            shown = " beside ".join(repr(row[0].as_py()) for row in rows)
            raise TableError(
                f"{where}: column {name!r} holds {shown}, so its '.' seems to part thousands; "
                "--decimal , reads all numbers so, --decimal . as decimals"
            )
    return _first(pc.filter(column, pc.match_substring_regex(column, "[.]")))


def _first(column: pa.Array) -> str:
    """The first text in a column; empty without one."""
    for part in (column.slice(0, 100), column.slice(100)):
        if len(numbers := bare_numbers(part)):
            return str(numbers[0].as_py())
    return ""


def bare_numbers(column: pa.Array) -> pa.Array:
    """Texts present in a column, without blanks around them."""
    bare = pc.utf8_trim_whitespace(column.drop_null())
    return pc.filter(bare, pc.invert(pc.match_substring_regex(bare, NO_NUMBER)))


def _refuse_doubtful(texts: Mapping[str, pa.Array], mark: str, where: str) -> None:
    """Refuse ``1,234`` among numbers such as 1500 or 14.0: it may be 1.234 just as well.

    Where a column parts every thousand, or shows both marks in one number, it is none.
    """
    other = COMMA if mark == POINT else POINT
    lone = rf"^[^.,]*[0-9][{other}][0-9]{{3}}[^.,0-9]*$"
    for name, column in texts.items():
        if not _has(column, lone) or _has(column, rf"[{other}][0-9]{{3}}[.,]"):
            continue
        plain = rf"^[^{other}]*(?:[0-9]{{4}}|[{mark}])[^{other}]*$"
        if _has(column, plain):
            odd, proof = (
                pc.filter(column, pc.match_substring_regex(column, kind))[0].as_py()[:40]
                for kind in (lone, plain)
            )
            raise TableError(
                f"{where}: column {name!r} holds {odd!r} among numbers such as {proof!r}, so that "
                f"its {other!r} may begin decimals or part thousands; write it as the others, or "
                f"--decimal {mark} says that it parts thousands"
            )


def plain_numbers(column: pa.Array, decimal: str) -> pa.Array:
    """Text [N] with numbers written anew with a decimal point; other text stays."""
    if decimal == COMMA and all_match(column, "^[+-]?[0-9]+(?:,[0-9]+)?$"):
        return pc.replace_substring(column, ",", ".")
    texts = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), PREFIX, r"\1")
    texts = pc.replace_substring_regex(texts, SUFFIX, r"\1")
    for letter, power in SCALES:
        texts = pc.replace_substring_regex(texts, rf"^(.*[0-9]) ?{letter}$", rf"\1{power}")
    is_grouped = pc.match_substring_regex(texts, GROUPED[decimal])
    marks = r"[, '\x{2019}\x{A0}\x{202F}]" if decimal == POINT else r"[. '\x{2019}\x{A0}\x{202F}]"
    closed = pc.replace_substring_regex(texts, marks, "")
    if decimal == COMMA:
        closed = pc.replace_substring(closed, ",", ".")
    return pc.if_else(is_grouped, closed, texts)


def _from_text(column: pa.Array, label: str, decimal: str) -> Floats:
    if decimal == POINT and (numbers := _all_finite(column)) is not None:
        return numbers
    bare = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    is_missing = pc.is_in(bare, value_set=pa.array(sorted(MISSING)))
    column = pc.if_else(is_missing, pa.scalar(None, pa.string()), column)
    if decimal == POINT and (numbers := _all_finite(column)) is not None:
        return numbers
    plain = plain_numbers(column, decimal)
    numbers = _all_finite(plain)
    return _one_by_one(plain, label) if numbers is None else numbers


def _all_finite(column: pa.Array) -> Floats | None:
    """The numbers of a column at once; None unless all present ones are plain and finite."""
    try:
        exact = column.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return to_array(exact, np.nan) if pc.all(pc.is_finite(exact), min_count=0).as_py() else None


def _one_by_one(column: pa.Array, label: str) -> Floats:
    numbers = np.full(len(column), np.nan)
    strange = []
    for row, value in enumerate(column.to_pylist()):
        text = "" if value is None else value.strip()
        if NUMBER.fullmatch(text) or INFINITE.fullmatch(text.lower()):
            numbers[row] = float(text)
        elif text.lower() not in MISSING:
            strange.append(f"row {row} {text[:40]!r}")
    if strange:
        has_mark = any(mark in text for mark in ".," for text in strange)
        hint = ", or name their mark with --decimal" if has_mark else ""
        raise TableError(
            f"{label} holds text that is no number: {list_some(strange[:SHOWN], len(strange))}; "
            f"write plain numbers with a decimal point{hint}"
        )
    return numbers


def _has(column: pa.Array, pattern: str) -> bool:
    return pc.any(pc.match_substring_regex(column, pattern)).as_py() is True
