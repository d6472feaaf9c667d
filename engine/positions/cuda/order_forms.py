"""Forms of strategies with orders: the facts known when a walk is compiled for a GPU.

The walk is that of CPU cores. There it reads forms and formulas as data; here they are constants,
and of all the law only the strategy's part is left.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.accounts.cpu.money import Purse
from engine.conditions.cpu.expression_vm import ABS, apply_operation
from engine.conditions.cuda import expression_vm
from engine.positions.cpu.orders import OrderRules
from engine.runtime.compiling.device_loops import retarget

Code = tuple[tuple[int, int, float], ...]
"""A formula: operation, operand and, of a constant, its number, of each instruction."""

FORM_BITS = 4
"""Bits of the form of a part."""


class OrderForm(NamedTuple):
    """Form common to all individuals of a strategy, but for costs."""

    forms: tuple[tuple[int, int], ...]  # of each part, of longs and shorts
    formulas: tuple[tuple[Code, Code], ...]  # likewise
    targets: tuple[int, int]  # how many each side has
    slippages: tuple[int, int]  # their forms
    size: int  # form of the stake
    has_tick: bool
    has_finer: bool  # whether bars have finer ones
    even_leg: int  # this and what follows as in `OrderRules`
    even_form: int
    names_stops: bool
    reverses: bool
    legs: int
    is_plain: bool


def list_given(
    form: OrderForm, primitives: dict[str, Any], make: Callable[[Any], Any]
) -> dict[str, Any]:
    """By name the functions that the walk of a form calls in place of those for CPU cores.

    Args:
        form: Of the strategy.
        primitives: What is below the walk.
        make: Compiles a function.
    """
    given = primitives | {
        "find_form": make(build_forms(form.forms)),
        "count_targets": make(build_choice(*form.targets)),
        "find_slippage": make(build_choice(*form.slippages)),
        "has_finer": make(build_constant(form.has_finer)),
        "fix_rules": make(build_rules(form)),
        "fix_purse": make(build_purse(form.size)),
    }
    return given | {"read_formula": build_formulas(form.formulas, given, make)}


def build_forms(forms: tuple[tuple[int, int], ...]) -> Callable[..., int]:
    """Form of a part of a side."""
    longs, shorts = (
        sum(pair[side] << FORM_BITS * part for part, pair in enumerate(forms)) for side in range(2)
    )
    last = (1 << FORM_BITS) - 1

    def find_form(asks: object, part: int, side: int) -> int:
        return (longs if side == 0 else shorts) >> FORM_BITS * part & last

    return find_form


def build_choice(long: int, short: int) -> Callable[..., int]:
    """A number of a side."""

    def choose(rules: object, side: int) -> int:
        return long if side == 0 else short

    return choose


def build_constant(value: bool) -> Callable[..., bool]:
    """A truth for any arguments."""

    def answer(asks: object) -> bool:
        return value

    return answer


def build_rules(form: OrderForm) -> Callable[[OrderRules], OrderRules]:
    """Rules with the constants of a form."""
    _, _, _, _, _, has_tick, _, even_leg, even_form, names, reverses, legs, is_plain = form

    def fix_rules(rules: OrderRules) -> OrderRules:
        over = rules.tick_over if has_tick else 0.0
        return OrderRules(
            rules.per_side, rules.min_risk, rules.unit_fee, over, rules.tick_under, even_leg,
            even_form, names, reverses, legs, rules.targets, rules.slippages, False, is_plain,
        )  # fmt: skip

    return fix_rules


def build_purse(size: int) -> Callable[[Purse], Purse]:
    """A purse with the form of its stake."""

    def fix_purse(purse: Purse) -> Purse:
        return Purse(
            size, purse.cash, purse.worth, purse.lot_over, purse.lot_under, purse.fee,
            purse.fee_unit, purse.fee_min, purse.risk_fraction,
        )  # fmt: skip

    return fix_purse


def build_formulas(
    formulas: tuple[tuple[Code, Code], ...], given: dict[str, Any], make: Callable[[Any], Any]
) -> Any:
    """Value of a part's formula at a bar; 0 without a row to read."""
    load_value, apply = given["load_value"], retarget(apply_operation, given, make)

    def read_row(place: int) -> Any:
        def value(asks, p, t):
            return load_value(asks.rows, load_value(asks.slots, p, place), t)

        return make(value)

    def read_gene(place: int) -> Any:
        def value(asks, p, t):
            return load_value(asks.genomes, p, place)

        return make(value)

    def read_constant(number: float) -> Any:
        def value(asks, p, t):
            return number

        return make(value)

    def join(operation: int, left: Any, right: Any) -> Any:
        def value(asks, p, t):
            return apply(operation, left(asks, p, t), right(asks, p, t))

        return make(value)

    def without_sign(inner: Any) -> Any:
        def value(asks, p, t):
            return inner(asks, p, t) + 0.0

        return make(value)

    def compose(code: Code) -> Any:
        stack: list[Any] = []
        for operation, operand, number in code:
            if operation == expression_vm.ROW:
                stack.append(read_row(operand))
            elif operation == expression_vm.GENE:
                stack.append(read_gene(operand))
            elif operation == expression_vm.CONSTANT:
                stack.append(read_constant(number))
            else:
                # Both machines number operations in one order.
                here, right = operation - expression_vm.ABS + ABS, stack.pop()
                left = right if here == ABS else stack.pop()
                stack.append(join(here, right, left) if operand == 1 else join(here, left, right))
        return without_sign(stack.pop()) if stack else read_constant(0.0)

    def choose(part: int, longs: Any, shorts: Any, rest: Any) -> Any:
        def of_either(asks, p, number, side, t, stack):
            if number == part:
                return longs(asks, p, t)
            return rest(asks, p, number, side, t, stack)

        def of_side(asks, p, number, side, t, stack):
            if number == part:
                return longs(asks, p, t) if side == 0 else shorts(asks, p, t)
            return rest(asks, p, number, side, t, stack)

        return make(of_either if longs is shorts else of_side)

    def read_nothing(asks, p, number, side, t, stack):
        return 0.0

    read = make(read_nothing)
    for part, (of_longs, of_shorts) in enumerate(formulas):
        if of_longs or of_shorts:
            longs = compose(of_longs)
            read = choose(part, longs, longs if of_longs == of_shorts else compose(of_shorts), read)
    return read
