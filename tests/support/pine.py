"""Pine for tests: a script is turned into Python, strictly, and run bar by bar.

It knows the part of Pine v6 that exported members are written in and refuses all else. Orders are
filled by the rules of TradingView's broker emulator as its manual states them: market orders at
the next open, stops and limits along open, nearer extreme, other extreme, close.
"""

import math
import re
from array import array
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(r'\s*("[^"]*"|\d[\d.]*(?:e[-+]?\d+)?|[A-Za-z_]\w*|[<>=!]=|[-+*/%<>?:=.,()\[\]])')
LEVELS = (("or",), ("and",), ("<", ">", "<=", ">=", "==", "!="), ("+", "-"), ("*", "/", "%"))
TYPES = r"(?:(?:float|int|bool|string|table|Ledger) )"


class State:
    """What one place in the script remembers: its variables, and the past of its series."""

    def __init__(self):
        self.kept, self.past, self.below = {}, {}, {}

    def at(self, key):
        """The state of a call that stands at a place."""
        return self.below.setdefault(key, State())

    def keep(self, bar, name, value):
        """Note the value of a series at a bar."""
        self.past.setdefault(name, {})[bar] = value
        return value

    def ago(self, bar, name, bars):
        """The value of a series so many bars ago."""
        return self.past.get(name, {}).get(bar - int(bars), math.nan)


class Program:
    """Python of a script: names of `var` live in a state, all others are kept bar by bar."""

    def __init__(self, text):
        self.places, self.inner, self.kept, self.source = 0, None, set(), []
        self.is_type = False
        lines = [line.split("//")[0].rstrip() for line in text.splitlines()]
        for line in filter(None, lines):
            indent = len(line) - len(line.lstrip())
            assert indent % 4 == 0, line
            self._line(" " * indent, line.strip(), is_inner=indent > 0)
        self._end()

    def _line(self, indent, line, *, is_inner):
        if not is_inner:
            self._end()
            self.is_type = line.startswith("type ")
        if match := re.fullmatch(r"(\w+)\((.*)\) =>", line):
            names = [parameter.split()[-1] for parameter in match[2].split(", ") if parameter]
            self.inner, self.outer, self.kept = {*names}, self.kept, set()
            self.source.append(f"def {match[1]}({', '.join(['S', *names])}):")
            self.source += [f"    S.keep(T.bar_index, {name!r}, {name})" for name in names]
        elif match := re.fullmatch(r"type (\w+)", line):
            self.source.append(f"class {match[1]}(Fields):")
        elif match := re.fullmatch(r"(else if|if) (.*)", line):
            word = {"if": "if", "else if": "elif"}[match[1]]
            self.source.append(f"{indent}{word} {self._expression(match[2])}:")
        elif line == "else":
            self.source.append(f"{indent}else:")
        else:
            self.source.append(indent + self._statement(line))

    def _end(self):
        """A function gives back its last line."""
        if self.inner is not None:
            self.source[-1] = f"    return {self.source[-1].strip()}"
            self.inner, self.kept = None, self.outer

    def _statement(self, line):
        if match := re.fullmatch(rf"var {TYPES}(\w+) = (.*)", line):
            self.kept.add(match[1])
            variable = f"S.kept[{match[1]!r}]"
            return f"if {match[1]!r} not in S.kept: {variable} = {self._expression(match[2])}"
        if match := re.fullmatch(r"([\w.]+) := (.*)", line):
            return f"{self._expression(match[1])} = {self._expression(match[2])}"
        if match := re.fullmatch(rf"{TYPES}?(\w+) = (.*)", line):
            if self.inner is not None:
                self.inner.add(match[1])
            value = self._expression(match[2])
            if self.is_type:
                return f"{match[1]} = {value}"
            return f"{match[1]} = S.keep(T.bar_index, {match[1]!r}, {value})"
        return self._expression(line)

    def _expression(self, text):
        self.tokens = TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text), text
        expression = self._ternary()
        assert not self.tokens, (text, self.tokens)
        return expression

    def _next(self, *wanted):
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else None

    def _ternary(self):
        test = self._join(0)
        if not self._next("?"):
            return test
        first = self._ternary()
        assert self._next(":")
        return f"({first} if {test} else {self._ternary()})"

    def _join(self, level):
        if level == len(LEVELS):
            return self._sign()
        if level == 2 and self._next("not"):
            return f"(not {self._join(2)})"
        left = self._join(level + 1)
        while sign := self._next(*LEVELS[level]):
            left = f"({left} {sign} {self._join(level + 1)})"
        return left

    def _sign(self):
        return f"(-{self._sign()})" if self._next("-") else self._follow()

    def _follow(self):
        token = self.tokens.pop(0)
        if token == "(":
            code = self._ternary()
            assert self._next(")")
            return code
        assert token[0].isalnum() or token[0] in '_"', token
        code = {"true": "True", "false": "False"}.get(token, token)
        if token in self.kept:
            code = f"S.kept[{token!r}]"
        while sign := self._next(".", "(", "["):
            if sign == ".":
                code += f".{self.tokens.pop(0)}"
            elif sign == "[":
                state = "S" if self.inner is not None and token in self.inner else "G"
                code = f"{state}.ago(T.bar_index, {token!r}, {self._ternary()})"
                assert self._next("]")
            else:
                code = self._call(code)
        return code

    def _call(self, name):
        self.places += 1
        arguments = [f"S.at({self.places})"] if name.startswith(("f_", "ta.", "math.sum")) else []
        while not self._next(")"):
            if len(self.tokens) > 1 and self.tokens[1] == "=":
                arguments.append(f"{self.tokens.pop(0)}{self.tokens.pop(0)}{self._ternary()}")
            else:
                arguments.append(self._ternary())
            assert self._next(",") or self.tokens[0] == ")"
        return f"{'is_na' if name == 'na' else name}({', '.join(arguments)})"


class Fields(SimpleNamespace):
    """An object of a script's type."""

    @classmethod
    def new(cls):
        """One with the values of its type."""
        return cls()


def _window(found):
    def over(state, values, n):
        newest = state.kept.setdefault("newest", array("d"))
        newest.append(values)
        window = np.frombuffer(newest)[-int(n) :]
        return float(found(window)) if len(window) == n else math.nan

    return over


class Fill(NamedTuple):
    """A trade of the strategy tester."""

    entry_bar: int
    exit_bar: int
    side: int
    entry: float
    exit: float


@dataclass
class Tester:
    """The broker emulator: at most one position, which may leave in parts."""

    long: int = 1
    short: int = -1
    position_size: float = 0.0
    equity: float = 1e6
    commission: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(percent="percent"))
    oca: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(cancel="cancel"))
    fills: list = field(default_factory=list)
    waiting: dict = field(default_factory=dict)
    brackets: dict = field(default_factory=dict)
    held: tuple | None = None
    leaves: bool = False
    done: set = field(default_factory=set)
    now: SimpleNamespace | None = None

    def __call__(self, *_, **__):
        """The script's declaration."""

    def entry(self, name, side, units, stop=None, limit=None, oca_name="", oca_type=""):
        """An order that is filled at the next open, or waits; it closes an opposite position."""
        assert units > 0
        assert oca_type in ("", "cancel")
        self.waiting[name] = (side, units, stop, limit, oca_name)

    def cancel(self, name):
        """No longer wait."""
        self.waiting.pop(name, None)

    def exit(self, name, from_entry, stop, limit=math.nan, qty=math.inf):
        """Stop and limit of the position that an entry begins, or of a part of it."""
        self.brackets.setdefault(from_entry, {})[name] = (stop, limit, qty)

    def close_all(self, immediately=False):
        """Out at the next open, or at once at the close."""
        if immediately:
            self._out(self.now.close)
        else:
            self.leaves = True

    def begin(self, bar):
        """Fill what the bar fills, before the script sees it."""
        self.now = bar
        if self.leaves:
            self._out(bar.open)
        self.leaves = False
        for name, (_, _, stop, limit, _) in list(self.waiting.items()):
            if stop is None and limit is None and name in self.waiting:
                self._in(name, bar.open)
        near_high = bar.high - bar.open < bar.open - bar.low
        turns = (bar.high, bar.low) if near_high else (bar.low, bar.high)
        for number, price in enumerate((bar.open, *turns, bar.close)):
            self._touch(price, is_open=number == 0)
            for name in list(self.waiting):
                self._meet(name, price, is_open=number == 0)
            self._touch(price, is_open=number == 0)

    def _meet(self, name, price, *, is_open):
        if name not in self.waiting:
            return
        side, _, stop, limit, _ = self.waiting[name]
        level = stop if stop is not None else limit
        is_up = (stop is not None) == (side > 0)
        if level is not None and (price >= level if is_up else price <= level):
            self._in(name, price if is_open else level)

    def _in(self, name, price):
        side, units, *_, group = self.waiting.pop(name)
        self._out(price)
        if group:
            self.waiting = {n: order for n, order in self.waiting.items() if order[-1] != group}
        self.held, self.position_size = (name, side, self.now.bar_index, price), side * units
        self.done = set()

    def _touch(self, price, *, is_open):
        if self.held is None:
            return
        name, side, *_ = self.held
        for part, (stop, limit, units) in list(self.brackets.get(name, {}).items()):
            if self.held is None or part in self.done:
                continue
            if side * price <= side * stop:
                self._out(price if is_open else stop, units, part)
            elif side * price >= side * limit:
                self._out(price if is_open else limit, units, part)

    def _out(self, price, units=math.inf, part=None):
        if self.held is None:
            return
        _, side, begun, entry = self.held
        self.fills.append(Fill(begun, self.now.bar_index, side, entry, price))
        self.position_size = side * max(abs(self.position_size) - units, 0.0)
        self.done.add(part)
        if abs(self.position_size) < 1e-9 * self.equity:
            self.brackets.pop(self.held[0], None)
            self.held, self.position_size = None, 0.0


def run_pine(text, bars):
    """Run a script over bars.

    Returns:
        Lines of its log, and the trades of the strategy tester.
    """
    code = compile("\n".join(Program(text).source), "pine", "exec")
    log, tester, state = [], Tester(), State()
    ignored = SimpleNamespace(
        new=lambda *_: None,
        cell=lambda *_, **__: None,
        style_linebr=0,
        red=0,
        green=0,
        gray=0,
        top_right=0,
    )
    names = {
        "na": math.nan,
        "is_na": lambda one: one != one,
        "S": state,
        "G": state,
        "nz": lambda one: 0 if one != one else one,
        "float": float,
        "Fields": Fields,
        "math": SimpleNamespace(
            max=max, min=min, abs=abs, floor=math.floor, ceil=math.ceil, sum=_window(np.sum)
        ),
        "ta": SimpleNamespace(
            sma=_window(np.mean),
            stdev=_window(np.std),
            dev=_window(lambda values: np.abs(values - values.mean()).mean()),
            highest=_window(np.max),
            lowest=_window(np.min),
            wma=_window(lambda one: np.average(one, weights=np.arange(len(one)) + 1)),
        ),
        "log": SimpleNamespace(info=log.append),
        "str": SimpleNamespace(tostring=str),
        "runtime": SimpleNamespace(error=_raise_refusal),
        "timeframe": SimpleNamespace(in_seconds=lambda: bars.timeframe_ns // 10**9),
        "strategy": tester,
        **dict.fromkeys(("table", "color", "position"), ignored),
        "plot": _Plot(),
    }
    columns = [getattr(bars, name).tolist() for name in ("open", "high", "low", "close", "volume")]
    for t, (opened, high, low, close, volume) in enumerate(zip(*columns, strict=True)):
        bar = SimpleNamespace(
            bar_index=t,
            open=opened,
            high=high,
            low=low,
            close=close,
            volume=volume,
            time=int(bars.timestamp[t]) // 10**6,
            hl2=(high + low) / 2,
            hlc3=(high + low + close) / 3,
            ohlc4=(opened + high + low + close) / 4,
        )
        for name, value in vars(bar).items():
            state.keep(t, name, value)
        tester.begin(bar)
        names |= {
            **vars(bar),
            "T": bar,
            "barstate": SimpleNamespace(islast=t + 1 == len(bars.open)),
        }
        exec(code, names)
    return log, tester.fills


class _Plot:
    style_linebr = 0

    def __call__(self, *_, **__):
        """Draw nothing."""


def _raise_refusal(message):
    raise AssertionError(message)
