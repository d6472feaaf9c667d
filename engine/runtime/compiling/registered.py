"""Registrations with numba of packages that are no libraries, by what it concerns.

A compiled loop names nothing of that: how two vectors are added is found by their type.
"""

import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
from numba.core import imputils, pythonapi
from numba.core.datamodel.registry import default_manager
from numba.core.typing import templates

LIBRARIES = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite"}


class CompilerCode(NamedTuple):
    """A function or class that runs as Python while the compiler works."""

    value: object


OPTIONS = ("_jit_options", "_strict", "_attr")
"""Of an overload."""


class _Language:
    """Registrations with the compiler of packages that are no libraries, by what it concerns."""

    def __init__(self) -> None:
        typing, lowering = templates.builtin_registry, imputils.builtin_registry
        self._lists = [typing.functions, typing.attributes, typing.globals, lowering.functions,
                       lowering.getattrs, lowering.setattrs, lowering.casts,
                       lowering.constants]  # fmt: skip
        self._counts = [0] * len(self._lists)
        self._concerned: dict[int, list[object]] = {}
        self._everywhere: list[object] = []

    def of(self, subject: object) -> list[object]:
        """Registrations of a function, or of a type of the compiler's."""
        self._refresh()
        concerned = list(self._concerned.get(id(subject), ()))
        boxes = (pythonapi._boxers, pythonapi._unboxers, pythonapi._reflectors)
        for registry in (default_manager._handlers, *(each.functions for each in boxes)):
            if subject in registry:
                concerned.append(CompilerCode(registry[subject]))
        return concerned

    def everywhere(self) -> list[object]:
        """Registrations that may concern any loop."""
        self._refresh()
        return self._everywhere

    def _refresh(self) -> None:
        for number, entries in enumerate(self._lists):
            for entry in entries[self._counts[number] :]:
                self._enter(entry)
            self._counts[number] = len(entries)

    def _enter(self, entry: object) -> None:
        for part, subjects in _iter_parts(entry):
            for subject in subjects:
                self._concerned.setdefault(id(subject), []).append(CompilerCode(part))
            if not subjects:
                self._everywhere.append(CompilerCode(part))


def _iter_parts(entry: Any) -> Iterator[tuple[object, list[object]]]:  # noqa: ANN401
    """Parts of an entry that are no library's, each with the functions and types of ours it needs.

    Without such it may concern any loop.
    """
    if isinstance(entry, type):
        yield from _template_parts(entry)
    elif isinstance(entry[-1], numba.types.Function):
        for template in entry[-1].templates:
            yield from _template_parts(template)
    elif _is_partly_ours(entry[0]):
        yield entry, _own_subjects(_flat(entry[1:]))


def _template_parts(template: Any) -> Iterator[tuple[object, list[object]]]:  # noqa: ANN401
    if hasattr(template, "_definition_func"):
        # An operation of the language, which is reached by its name.
        return
    subjects = _own_subjects([getattr(template, "key", None)])
    if (overload := getattr(template, "_overload_func", None)) is not None:
        if _is_partly_ours(overload):
            options = [getattr(template, name, None) for name in OPTIONS]
            # A function that is compiled as it reads is reached by its own name.
            body = None if is_library(overload) else overload
            yield (body, template._inline.value, options), subjects
        return
    own_kinds = [kind for kind in template.__mro__ if not is_library(kind)]
    made = [value for value in vars(template).values() if isinstance(value, FunctionType)]
    if cases := getattr(template, "cases", None):
        bound = [_own_subjects(case.args) for case in cases]
        subjects = [subject for each in bound for subject in each] if all(bound) else []
    if own_kinds or subjects:
        yield (getattr(template, "key", None), own_kinds, made), subjects


def _own_subjects(values: Iterable[Any]) -> list[object]:
    """Functions, and classes of the compiler's types, that are no library's."""
    subjects: list[object] = []
    for value in values:
        kind = type(value) if isinstance(value, numba.types.Type) else value
        if isinstance(kind, FunctionType | type) and not is_library(kind) and kind not in subjects:
            subjects.append(kind)
    return subjects


def _flat(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def read_closure(function: FunctionType) -> list[object]:
    """Values that a function has taken along from where it was made."""
    return [_content(cell) for cell in function.__closure__ or ()]


def _content(cell: Any) -> object:  # noqa: ANN401
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _find_module_name(value: Any) -> str:  # noqa: ANN401
    """Name of the module that made an object; a decorator may have given it another one."""
    if isinstance(value, FunctionType):
        return str(value.__globals__.get("__name__"))
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None) or type(value).__module__)


def is_library(value: object) -> bool:
    """Whether an object is of Python or of a library whose version is part of every key."""
    return _find_module_name(value).split(".")[0] in LIBRARIES


def _is_partly_ours(function: Any) -> bool:  # noqa: ANN401
    """Whether a function is no library's, or wraps one that is none."""
    if not isinstance(function, FunctionType):
        return True
    return not is_library(function) or any(
        isinstance(inner, FunctionType) and not is_library(inner)
        for inner in read_closure(function)
    )


LANGUAGE = _Language()
