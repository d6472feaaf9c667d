"""Options that a message names, as a person would follow it."""

import re
import shlex

from data.table import LoadOptions

VALUES = ("stamped", "decimal", "ambiguous", "tz", "source_timeframe", "time_format")
FORMS = {"source_timeframe": "[0-9]+[smhdw]", "time_format": ".*%.*"}
SWITCHES = ("sort", "dedupe", "drop_bad_bars")


def is_value(name: str, word: str) -> bool:
    """True for a word that may be the value of an option, and is no part of its sentence."""
    return re.fullmatch(FORMS.get(name, ".*"), word.rstrip(",")) is not None


def parse_options(message: str, **others: object) -> LoadOptions:
    """The options that a message names behind what is wrong, beside others; of two the first."""
    remedy = message.partition("; ")[2]
    words = shlex.split(re.sub(r"[();]| or ", " ", remedy))
    columns: dict[str, str] = {}
    flags: dict[str, object] = {}
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        name = flag.removeprefix("--").rstrip(",").replace("-", "_")
        if flag == "--column":
            meaning, _, column = value.rstrip(",").partition("=")
            columns.setdefault(meaning, column)
        elif flag.startswith("--") and name in VALUES and is_value(name, value):
            flags.setdefault(name, value.rstrip(","))
        elif flag.startswith("--") and name in SWITCHES:
            flags[name] = True
    return LoadOptions(**{"columns": columns, **flags, **others})
