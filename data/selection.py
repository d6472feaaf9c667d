"""From one spec to many: a folder or a pattern stands for all files that it holds."""

from glob import glob, has_magic
from pathlib import Path

from data.errors import SourceError
from data.providers import PROVIDERS, Provider


def expand_spec(spec: str) -> tuple[str, ...]:
    """The sources that a spec stands for.

    Args:
        spec: As `load_bars` takes it, or with a folder or a pattern such as ``csv:bars/*.csv`` in
            place of a path. Of a folder the files count that end as the source's files do; those of
            folders within it do not.

    Returns:
        One spec a file, in the order of their names; the spec itself where it is neither.

    Raises:
        SourceError: When a folder or pattern holds no such file.
    """
    name, colon, address = spec.partition(":")
    is_named = bool(colon) and name in PROVIDERS
    place = address if is_named else spec
    if not place or (colon and not is_named) or (is_named and not PROVIDERS[name].endings):
        return (spec,)
    path = Path(place).expanduser()
    kinds = [PROVIDERS[name]] if is_named else [p for p in PROVIDERS.values() if p.endings]
    prefix = f"{name}:" if is_named else ""
    if _is_folder(path):
        found = [str(one) for one in path.iterdir() if _ends_as(one, kinds) and one.is_file()]
        if not found:
            endings = ", ".join(ending for kind in kinds for ending in kind.endings)
            raise SourceError(f"{_shown(spec)}: no file in this folder ends in {endings}")
    elif has_magic(str(path)) and not path.exists():
        found = [one for one in glob(str(path), recursive=True) if Path(one).is_file()]
        if not found:
            raise SourceError(f"{_shown(spec)}: no file has such a name")
    else:
        return (spec,)
    return tuple(f"{prefix}{one}" for one in sorted(found))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _ends_as(path: Path, kinds: list[Provider]) -> bool:
    # A hidden file is none of a person's: other systems leave such beside each of theirs.
    is_hidden = path.name.startswith(".")
    return not is_hidden and any(path.name.lower().endswith(kind.endings) for kind in kinds)


def _shown(spec: str) -> str:
    text = spec if spec.isprintable() else ascii(spec)
    return text if len(text) <= 80 else text[:80] + "..."
