"""Instructions of plain functions as digests: what they do, and which names they read."""

import hashlib
import struct
from dis import hasconst, opmap
from functools import cache
from types import CodeType
from typing import NamedTuple

DYNAMIC = {"globals", "locals", "vars", "eval", "exec", "__import__", "import_module", "attrgetter"}
"""Names with which code finds others that are not written in it."""

LOAD_GLOBAL, LOAD_NAME = opmap["LOAD_GLOBAL"], opmap["LOAD_NAME"]
READS = {*hasconst, LOAD_GLOBAL, LOAD_NAME}
HAS_DOCSTRING = 0x4000000
IMPORT_NAME, EXTENDED_ARG = opmap["IMPORT_NAME"], opmap["EXTENDED_ARG"]


class Code(NamedTuple):
    """Instructions of a function and of those that it makes."""

    digest: str  # of them
    names: tuple[str, ...]  # names that they read from the module, in order
    attributes: tuple[str, ...]  # names that they read from something else
    is_dynamic: bool  # whether they may read others, of modules that they name or of any


@cache
def digest_code(code: CodeType) -> Code:
    """Instructions and their operands; not where they stand, nor their comments."""
    names: set[str] = set()
    attributes = set(code.co_names)
    instructions, constants, globals_ = _read(code)
    texts, is_dynamic = [], not DYNAMIC.isdisjoint(code.co_names)
    for constant in constants:
        if isinstance(constant, CodeType):
            inner = digest_code(constant)
            names.update(inner.names)
            attributes.update(inner.attributes)
            is_dynamic |= inner.is_dynamic
            texts.append(inner.digest)
            continue
        if isinstance(constant, str):
            # A name that ``getattr`` may be given.
            attributes.add(constant)
        texts.append(_constant_text(constant))
    names.update(code.co_names[number] for number in globals_)
    is_dynamic |= IMPORT_NAME in instructions[::2]
    shape = (instructions, texts, code.co_names, code.co_varnames, code.co_cellvars,
             code.co_freevars, code.co_flags & ~HAS_DOCSTRING, code.co_argcount,
             code.co_posonlyargcount, code.co_kwonlyargcount, code.co_exceptiontable)  # fmt: skip
    digest = hashlib.sha256(repr(shape).encode(errors="surrogatepass")).hexdigest()
    return Code(digest, tuple(sorted(names)), tuple(sorted(attributes)), is_dynamic)


def _read(code: CodeType) -> tuple[bytes, list[object], list[int]]:
    """Instructions without numbers of constants, these constants, and numbers of names."""
    instructions = bytearray(code.co_code)
    operations = code.co_code[::2]
    constants: list[object] = []
    names = []
    for position, operation in enumerate(operations):
        if operation not in READS:
            continue
        number, shift, before = instructions[2 * position + 1], 8, position - 1
        while before >= 0 and operations[before] == EXTENDED_ARG:
            number |= instructions[2 * before + 1] << shift
            shift, before = shift + 8, before - 1
        if operation in hasconst:
            # A docstring that comes or goes moves the others.
            instructions[2 * position + 1] = 0
            constants.append(code.co_consts[number])
        else:
            names.append(number >> 1 if operation == LOAD_GLOBAL else number)
    return bytes(instructions), constants, names


def _constant_text(value: object) -> str:
    """A constant of an instruction, in the same words in every process."""
    if isinstance(value, tuple):
        return f"({','.join(map(_constant_text, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_constant_text, value)))}}}"
    return plain_text(value)


def plain_text(value: object) -> str:
    """A plain value with its kind and all its bits."""
    if isinstance(value, float):
        return f"{type(value).__name__} {struct.pack('<d', value).hex()}"
    if isinstance(value, complex):
        return f"{type(value).__name__} {struct.pack('<dd', value.real, value.imag).hex()}"
    return f"{type(value).__name__} {value!r}"
