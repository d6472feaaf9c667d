"""Key of a compiled loop: a digest of all that its machine code is made of, and of nothing else.

That is the loop's instructions without docstrings, lines and comments, and in the same way all that
it reaches by name: functions, constants, classes, operations of the compiler's own language, and
what is registered with the compiler for those. Libraries are known by their versions. Values are
looked at where they are, at the moment of asking, so that what lies on disk does not matter.

Where something is of no known kind, or is looked up by a name that is not written down, there
is no key, and no machine code is kept: each process compiles it. A key may change too often, and
never too seldom.
"""

import hashlib
import sys
from collections.abc import Iterable
from enum import Enum
from functools import partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MethodType,
    ModuleType,
    UnionType,
)
from typing import Any, cast

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.typing import templates

from engine.runtime.compiling.code_digest import Code, digest_code, plain_text
from engine.runtime.compiling.registered import (
    LANGUAGE,
    CompilerCode,
    is_library,
    read_closure,
)

PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...))

METHODS = (FunctionType, staticmethod, classmethod, property)

PARTS: dict[type, tuple[str, ...]] = {
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    templates.Signature: ("return_type", "args", "recvr"),
    Enum: ("__class__", "name", "value"),
}
"""Attributes that are followed of an object."""

OF_CLASSES = {
    "__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__slotnames__", "__abstractmethods__", "_abc_impl", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__orig_bases__",
}  # fmt: skip
"""Attributes of a class that are no part of its behaviour."""

SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT",
            "ENABLE_AVX", "USING_SVML")  # fmt: skip
"""The compiler's own, as variables of the environment set them."""

_READ: dict[tuple[int, str], tuple[object, object]] = {}
"""Value of each name of a module when it was first read, with the module's names."""

_CHANGED: set[str] = set()
"""Names that stood for something else later."""


class UnknownReachError(Exception):
    """A loop reaches what cannot be followed."""


def digest_reach(*roots: object) -> str:
    """Digest of loops and values with all that they reach, twenty digits.

    Raises:
        UnknownReachError: When that is not known.
    """
    walk = _Walk()
    walk.add(repr(_versions()))
    for root in (*roots, *LANGUAGE.everywhere()):
        walk.add(root)
    return walk.digest()


def changed_names() -> set[str]:
    """Names that stand for something else than when loops that read them were first looked at.

    What numba compiled before goes into what it compiles now as it was.
    """
    return _CHANGED


def _versions() -> tuple[object, ...]:
    settings = tuple(str(getattr(numba.config, name, None)) for name in SETTINGS)
    libraries = (numba.__version__, llvmlite.__version__, np.__version__)
    return (sys.implementation.cache_tag, tuple(sys.version_info), sys.abiflags, libraries,
            settings)  # fmt: skip


class _Walk:
    """Puts objects into a digest, each once, and after each what it reaches."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._seen: dict[tuple[int, bool], int] = {}
        self._held: list[object] = []
        self._module = ""
        self._is_python = False
        """Whether what is looked at runs as Python while the compiler works."""

    def digest(self) -> str:
        """Of all that was added."""
        text = "\n".join(self._said)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:20]

    def add(self, value: Any) -> None:  # noqa: ANN401 - of any kind
        """Add an object of any kind."""
        if type(value) in PLAIN:
            return self._say(plain_text(value))
        if type(value) in (tuple, list):
            return self._add_all(type(value).__name__, value)
        if type(value) in (set, frozenset):
            return self._add_set(value)
        if type(value) is dict:
            return self._add_all("dict", [part for item in value.items() for part in item])
        if isinstance(value, np.ndarray | np.generic):
            return self._add_array(value)
        if isinstance(value, np.dtype | ir.Type | ir.Constant):
            return self._say(f"{type(value).__name__} {value}")
        if isinstance(value, CompilerCode):
            return self._add_python(value.value)
        number = self._seen.setdefault((id(value), self._is_python), len(self._seen))
        if number < len(self._held):
            return self._say(f"again {number}")
        # Held, so that no other object gets its number.
        self._held.append(value)
        return self._add_object(value)

    def _add_object(self, value: Any) -> None:  # noqa: ANN401
        if isinstance(value, Dispatcher):
            compiler = cast(Any, value)._compiler
            parts = (value.py_func, value.targetoptions, compiler.locals, compiler.pipeline_class)
            return self._add_all("loop", (*parts, getattr(value, "declared", None)))
        if isinstance(value, _Intrinsic):
            rest = (value._name, value._prefer_literal, value._ctor_kwargs)
            return self._add_all("operation", (*rest, CompilerCode(value._defn)))
        if isinstance(value, numba.types.Type):
            kept = "value" if isinstance(value, numba.types.Omitted) else "dispatcher"
            key = getattr(value, kept, value.key)
            return self._add_all("type", (type(value), key))
        if isinstance(value, FunctionType):
            return self._add_function(value)
        if isinstance(value, ModuleType):
            return self._say(f"module {value.__name__}")
        if isinstance(value, type):
            return self._add_class(value)
        return self._add_other(value)

    def _add_other(self, value: Any) -> None:  # noqa: ANN401
        if isinstance(value, tuple):
            return self._add_all("record", (type(value), *value))
        for kind, names in PARTS.items():
            if isinstance(value, kind):
                return self._add_all(kind.__name__, [getattr(value, name) for name in names])
        if isinstance(value, np.ufunc) and is_library(value):
            return self._say(f"ufunc {value.__name__}")
        if _is_builtin(value):
            return self._say(f"builtin {value.__module__} {value.__qualname__}")
        if isinstance(value, GenericAlias | UnionType) or type(value).__module__ == "typing":
            return self._say(f"annotation {value!r}")
        raise UnknownReachError(f"{self._module} reads {type(value).__qualname__}")

    def _add_function(self, function: FunctionType) -> None:
        self._say(f"function {function.__module__} {function.__qualname__}")
        closure = read_closure(function)
        if is_library(function) and "<locals>" not in function.__qualname__:
            return
        code = digest_code(function.__code__)
        self._say(code.digest)
        outer, self._module = self._module, str(function.__globals__.get("__name__"))
        self._add_all("defaults", (function.__defaults__, function.__kwdefaults__, *closure))
        if not is_library(function):
            self._add_named(function.__globals__, code)
            self._add_all("registered", LANGUAGE.of(function))
        self._module = outer

    def _add_named(self, names: dict[str, object], code: Code) -> None:
        """Add what names stand for, and what is read from modules among them."""
        modules: list[ModuleType] = []
        self._add_read(names, code.names, modules)
        for module in modules:
            self._add_read(vars(module), code.attributes, modules)
        has_open_names = any("__getattr__" in vars(module) for module in modules)
        if code.is_dynamic or has_open_names or (modules and "getattr" in code.names):
            raise UnknownReachError(f"{self._module} looks names up while it runs")

    def _add_read(
        self, names: dict[str, object], read: Iterable[str], modules: list[ModuleType]
    ) -> None:
        for name in read:
            if name not in names:
                continue
            value = names[name]
            if _READ.setdefault((id(names), name), (value, names))[0] is not value:
                _CHANGED.add(name)
            self._say(name)
            self.add(value)
            if isinstance(value, ModuleType) and not is_library(value) and value not in modules:
                modules.append(value)

    def _add_class(self, kind: type) -> None:
        self._say(f"class {kind.__module__} {kind.__qualname__}")
        if is_library(kind):
            return
        fields = getattr(kind, "_fields", None)
        if issubclass(kind, tuple) and fields is not None and not self._is_python:
            # Loops make records and read their fields; they cannot call their methods.
            self._add_all("record", (fields, getattr(kind, "_field_defaults", None)))
            return
        outer, self._module = self._module, kind.__module__
        self._add_all("bases", kind.__bases__)
        held = [(name, vars(kind)[name]) for name in sorted({*vars(kind)} - OF_CLASSES)]
        if issubclass(kind, Enum):
            self._add_all("choices", [(each.name, each.value) for each in kind])
            held = [(name, value) for name, value in held if isinstance(value, METHODS)]
        self._add_all("held", [part for part in held if not _is_slot(part[1])])
        if issubclass(kind, numba.types.Type):
            self._add_all("registered", LANGUAGE.of(kind))
        self._module = outer

    def _add_python(self, value: object) -> None:
        outer, self._is_python = self._is_python, True
        self.add(value)
        self._is_python = outer

    def _add_set(self, values: Any) -> None:  # noqa: ANN401
        if not all(type(value) in PLAIN for value in values):
            raise UnknownReachError(f"{self._module} has a set that has no order")
        return self._add_all(type(values).__name__, sorted(map(plain_text, values)))

    def _add_array(self, value: Any) -> None:  # noqa: ANN401
        if value.dtype.hasobject:
            raise UnknownReachError(f"{self._module} has an array of objects")
        layout = (value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable)
        self._say(f"{type(value).__name__} {value.dtype.descr} {value.shape} {layout}")
        return self._say(hashlib.sha256(value.tobytes()).hexdigest())

    def _add_all(self, name: str, values: Iterable[object]) -> None:
        values = list(values)
        self._say(f"{name} {len(values)}")
        for value in values:
            self.add(value)

    def _say(self, text: str) -> None:
        self._said.append(f"{len(text)} {text}")


def _is_builtin(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a function of a library that is written in C, bound to nothing of ours."""
    bound = getattr(value, "__self__", None)
    is_free = bound is None or (isinstance(bound, ModuleType | type) and is_library(bound))
    return isinstance(value, BuiltinFunctionType) and is_free and is_library(value)


def _is_slot(value: object) -> bool:
    """Whether it is how Python reads a field; the fields are named elsewhere."""
    return type(value).__name__ in ("member_descriptor", "getset_descriptor", "_tuplegetter")
