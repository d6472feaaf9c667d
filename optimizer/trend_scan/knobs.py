"""Knobs of a scan, and their meaning there."""

from optimizer.config.settings import DataSettings

SCANNED = (
    *(
        name
        for name in DataSettings.model_fields
        if name not in ("column_file", "aligned_columns", "finer")
    ),
    "start",
    "end",
    "threads",
)
"""Fields of the configuration; a scan has no strategy that could read a column of a file."""

NARROWER = {
    "start": "First bar of the rows, ISO time; a row depends on where it begins.",
    "end": "As it stood then: bars that open before this ISO time.",
    "cache": "Folder of fetched bars and last classes; the user's own cache if unset.",
}
"""Knobs that mean something narrower."""

HIGH, LOW = 0.1, -0.1
"""Thresholds of the classes, as in the public script."""
