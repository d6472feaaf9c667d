"""Local ways to write numbers, made plain: decimal commas, grouped thousands, 1.23M, $5."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from data.errors import TableError

POINT, COMMA = ".", ","

PROOFS = {
    COMMA: r",(?:[0-9]{1,2}|[0-9]{4,})[^0-9,.]*$|\.[0-9]{3}[.,]",
    POINT: r"\.(?:[0-9]{1,2}|[0-9]{4,})[^0-9,.]*$|,[0-9]{3}[,.]",
}
"""What only a decimal comma, or only a decimal point, can leave behind."""

PREFIX = r"^([+-]?)[$\x{20AC}\x{A3}\x{A5}]? ?"
GROUPED = {
    POINT: r"^[+-]?(?:[0-9]{1,3}(?:[, '\x{A0}\x{202F}][0-9]{3})+(?:\.[0-9]*)?)(?:e[0-9]+)?$",
    COMMA: r"^[+-]?(?:[0-9]{1,3}(?:[. '\x{A0}\x{202F}][0-9]{3})*(?:,[0-9]*)?|[0-9]+,[0-9]*)"
    r"(?:e[0-9]+)?$",
}
SCALES = (("[kK]", "e3"), ("[mM]", "e6"), ("[bB]", "e9"), ("[tT]", "e12"))


def find_decimal(columns: Mapping[str, pa.Array], chosen: str | None, where: str) -> str:
    """Say whether a file writes decimals with a point or a comma.

    Args:
        columns: Name to values, those with text only matter.
        chosen: What a person says; None to find out.
        where: What errors start with.

    Returns:
        ``.`` or ``,``.

    Raises:
        TableError: When both occur, or commas could be either.
    """
    texts = {name: column for name, column in columns.items() if pa.types.is_string(column.type)}
    with_comma = {name: column for name, column in texts.items() if _has(column, ",")}
    if chosen is not None or not with_comma:
        return chosen or POINT
    proven = {
        mark: any(_has(column, pattern) for column in texts.values())
        for mark, pattern in PROOFS.items()
    }
    if proven[COMMA] != proven[POINT]:
        return COMMA if proven[COMMA] else POINT
    name, column = next(iter(with_comma.items()))
    example = pc.filter(column, pc.match_substring_regex(column, ","))[0].as_py()[:40]
    raise TableError(
        f"{where}: column {name!r} holds numbers such as {example!r}; --decimal . or --decimal , "
        "says which mark begins the decimals"
    )


def plain_numbers(column: pa.Array, decimal: str) -> pa.Array:
    """Write numbers anew with a decimal point and nothing else; others stay as they are.

    Args:
        column: [N] text.
        decimal: ``.`` or ``,``.

    Returns:
        [N] text.
    """
    if decimal == COMMA and _all_plain(column):
        return pc.replace_substring(column, ",", ".")
    found = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), PREFIX, r"\1")
    for letter, power in SCALES:
        found = pc.replace_substring_regex(found, rf"^(.*[0-9]) ?{letter}$", rf"\1{power}")
    is_grouped = pc.match_substring_regex(found, GROUPED[decimal])
    marks = r"[, '\x{A0}\x{202F}]" if decimal == POINT else r"[. '\x{A0}\x{202F}]"
    closed = pc.replace_substring_regex(found, marks, "")
    if decimal == COMMA:
        closed = pc.replace_substring(closed, ",", ".")
    return pc.if_else(is_grouped, closed, found)


def _all_plain(column: pa.Array) -> bool:
    """Whether nothing but digits and one decimal comma each stand in a column."""
    return pc.all(pc.match_substring_regex(column, "^[+-]?[0-9]+(?:,[0-9]+)?$")).as_py() is True


def _has(column: pa.Array, pattern: str) -> bool:
    return pc.any(pc.match_substring_regex(column, pattern)).as_py() is True
