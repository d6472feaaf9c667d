"""Help by sections: everyday flags, and all of them with --help-all."""

from contextvars import ContextVar
from typing import Any

from typer.core import TyperCommand

from optimizer.config.settings import (
    ComputeSettings,
    CostSettings,
    DataSettings,
    DeviceSettings,
    EvidenceSettings,
    GoalSettings,
    RecordSettings,
    SearchSettings,
    StrategySettings,
    WindowSettings,
)
from optimizer.config.values import Settings

SECTIONS: dict[str, tuple[type[Settings], ...]] = {
    "Data": (DataSettings, WindowSettings),
    "Strategy": (StrategySettings, CostSettings),
    "Goals": (GoalSettings,),
    "Search": (SearchSettings,),
    "Evidence": (EvidenceSettings,),
    "Run": (DeviceSettings, ComputeSettings, RecordSettings),
}
"""Groups of knobs by the word that help has for them."""

EVERYDAY = frozenset([
    "data", "timeframe", "tz", "dedupe", "finer", "start", "end", "holdout", "strategy", "bounds",
    "fee_bp", "slippage_bp", "max_positions", "rank", "objectives", "constraints", "min_trades",
    "population", "generations", "seed", "warm_start", "member", "judge", "null", "folds", "every",
    "device", "threads", "memory", "runs", "keep", "report",
])  # fmt: skip
"""Knobs that help shows without being asked for all."""

SELDOM = frozenset(["cluster_plaintext"])
"""A command's own flags that help shows among all."""

ASKED_FOR_ALL = ContextVar("asked_for_all", default=False)
"""True if --help-all was given."""

Records = list[tuple[str, str]]


class Sectioned(TyperCommand):
    """A command whose knobs are shown by sections, those that are not everyday with --help-all."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - the library's own
        """Write arguments, the command's own flags, then knobs by section."""
        sections: dict[str, Records] = {name: [] for name in ("Arguments", "Options", *SECTIONS)}
        hidden, seldom = 0, SELDOM.union(_SECTION_OF)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            name = parameter.name or ""
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                sections["Arguments"].append(record)
            elif ASKED_FOR_ALL.get() or name in EVERYDAY or name not in seldom:
                sections[_SECTION_OF.get(name, "Options")].append(record)
            else:
                hidden += 1
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{hidden} more flags: --help-all shows them too.")


_SECTION_OF = {
    name: section
    for section, groups in SECTIONS.items()
    for group in groups
    for name in group.model_fields
}
