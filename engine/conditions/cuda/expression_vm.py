"""Arithmetic of a strategy as numbers, so that one kernel computes whatever a person wrote.

A formula is a list of instructions for a stack: a value read is put on top, an operation takes the
top two and leaves its result. Kernels read the list; nothing is compiled for a strategy.
"""

from strategy.expressions import Arithmetic, Expression, GeneValue, Number
from strategy.genes import GenomeLayout

ROW, GENE, CONSTANT, ABS, ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM = range(10)
"""Operation of an instruction; the first three put a value on the stack."""

OPERATIONS = {
    "abs": ABS,
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "minimum": MINIMUM,
    "maximum": MAXIMUM,
}

DEPTH = 4
"""Places of the stack. Fewer than sixteen values never need more, in whatever tree."""

TURNED = 16
"""Mark of an operation, in the form of a formula, with its right side below its left one."""

Span = tuple[int, int]
"""First instruction of a formula, and one past its last."""

Form = tuple[int, ...]
"""Operations of a formula, without their operands."""


class Formulas:
    """The formulas of one strategy, one after another.

    Args:
        layout: Of the genomes.

    Attributes:
        code: Instruction and operand, in turn. The operand is the place of a row in `rows`, a
            column of genomes, a place in `constants`, or for an operation 1 where its right side
            lies below its left one.
        constants: Numbers that formulas read.
        rows: What is computed on the host, for each set of values of its genes.
    """

    def __init__(self, layout: GenomeLayout) -> None:
        self._layout = layout
        self.code: list[int] = []
        self.constants: list[float] = []
        self.rows: dict[Expression, int] = {}
        self._spans: dict[Expression, Span] = {}

    def span(self, expression: Expression) -> Span:
        """Where an expression's formula stands; equal ones share it."""
        if expression not in self._spans:
            begin = len(self.code) // 2
            self._write(expression)
            self._spans[expression] = begin, len(self.code) // 2
        return self._spans[expression]

    def form(self, span: Span) -> Form:
        """The form of what stands there."""
        begin, end = span
        code = self.code[2 * begin : 2 * end]
        return tuple(
            operation + TURNED * (operation > CONSTANT and operand)
            for operation, operand in zip(code[0::2], code[1::2], strict=True)
        )

    def instructions(self, span: Span) -> tuple[tuple[int, int, float], ...]:
        """Instructions that stand there: operation, operand and, of a constant, its number."""
        begin, end = span
        code = self.code[2 * begin : 2 * end]
        return tuple(
            (operation, operand, self.constants[operand] if operation == CONSTANT else 0.0)
            for operation, operand in zip(code[0::2], code[1::2], strict=True)
        )

    def _write(self, node: Expression) -> None:
        if isinstance(node, GeneValue):
            self.code += GENE, self._layout.index(node.gene.name)
        elif isinstance(node, Number):
            self.code += CONSTANT, len(self.constants)
            self.constants.append(node.value)
        elif not isinstance(node, Arithmetic):
            self._write_row(node)
        elif node.right is None:
            self._write(node.left)
            self.code += OPERATIONS[node.operation], 0
        else:
            self._write_both(node, node.left, node.right)

    def _write_both(self, node: Arithmetic, left: Expression, right: Expression) -> None:
        # What needs more of the stack goes first, while it is empty.
        is_swapped = _places(right) > _places(left)
        first, second = (right, left) if is_swapped else (left, right)
        self._write(first)
        if _places(node) > DEPTH:
            self._write_row(second)
        else:
            self._write(second)
        self.code += OPERATIONS[node.operation], int(is_swapped)

    def _write_row(self, node: Expression) -> None:
        self.code += ROW, self.rows.setdefault(node, len(self.rows))


def _places(node: Expression) -> int:
    """Places of the stack that a formula needs, at most one beyond the stack's size."""
    if not isinstance(node, Arithmetic):
        return 1
    left = min(_places(node.left), DEPTH)
    right = 0 if node.right is None else min(_places(node.right), DEPTH)
    return left + 1 if left == right else max(left, right)
