"""The sources that a configuration names, and how it wants them read."""

import re
from collections import Counter
from dataclasses import fields

from data import LoadOptions, expand_spec
from data.shell import quote_word
from data.table import FetchOptions
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from strategy.indicator_registry import ROW_NAMES

FRAME = re.compile(r"(?:parquet:)?[^\s'\"]*\b(bars-[0-9a-f]{16})\.parquet")
"""A source, or a path, of which `frames.frames_as_files` made the file of a frame."""


def named_specs(config: RunConfig) -> tuple[str, ...]:
    """The sources that a configuration names, folders and patterns as their files.

    Raises:
        ConfigError: When a source is named twice.
        DataError: When a folder or a pattern holds none.
    """
    specs = tuple(spec for named in config.data for spec in expand_spec(named))
    repeated = [spec for spec, count in Counter(specs).items() if count > 1]
    if repeated:
        raise ConfigError(f"--data '{repeated[0]}' is named more than once")
    return specs


def load_options(config: RunConfig, *, may_fetch: bool = True) -> LoadOptions:
    """How a configuration wants sources to be read; its knobs bear the names of the options.

    With `may_fetch` a vendor may be asked for bars that no cache has.

    Raises:
        ConfigError: When no strategy could ask for an aligned column by its name.
        DataError: When an option makes no sense.
    """
    known = {name: getattr(config, name) for name in RunConfig.model_fields}
    fetch, load = (
        {part.name: known[part.name] for part in fields(kind) if part.name in known}
        for kind in (FetchOptions, LoadOptions)
    )
    options = LoadOptions(**load, fetch=FetchOptions(**fetch, may_fetch=may_fetch))
    for name in options.aligned:
        if name in ROW_NAMES:
            raise ConfigError(
                f"--aligned-column {name}: a strategy means something else by '{name}'; "
                f"--aligned-column {quote_word(f'{name}_2={options.aligned[name]}')} gives it "
                "another name"
            )
    return options
