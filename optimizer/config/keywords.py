"""Settings that calls of Python take by their names, with their types; made of the knobs."""

from collections.abc import Iterable, Mapping

from optimizer.config.compute import ComputeSettings, DeviceSettings
from optimizer.config.data import CostSettings, DataSettings, StrategySettings, WindowSettings
from optimizer.config.evidence import EvidenceSettings
from optimizer.config.run_config import RunConfig, find_value_type

OF_MACHINE = (*DeviceSettings.model_fields, *ComputeSettings.model_fields)
"""Knobs that say where it is computed."""

TRADES = (
    *DataSettings.model_fields,
    *StrategySettings.model_fields,
    *ComputeSettings.model_fields,
    *WindowSettings.model_fields,
    *CostSettings.model_fields,
)
"""Knobs that decide trades, and where they are computed."""

JUDGED = (*(name for name in EvidenceSettings.model_fields if name != "judge"), *OF_MACHINE)
"""Knobs of a judgement, beside where the bars are."""


def list_types(names: Iterable[str]) -> dict[str, object]:
    """Types of knobs by their names."""
    return {name: find_value_type(RunConfig.model_fields[name]) for name in names}


SIGNAL: Mapping[str, object] = list_types(DataSettings.model_fields)

JUDGE: Mapping[str, object] = list_types(JUDGED)

RUN: Mapping[str, object] = {
    **list_types(RunConfig.model_fields),
    "bars": object,
    "strategy": object,
}
"""All of a run."""
