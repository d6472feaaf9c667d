"""Kernel that decides a comparison: the general one, or one compiled for its form.

The first takes a formula as data and computes every operation at every step. The second takes a
while to compile, so it comes in once a form has had work enough. It decides its first comparison
beside the first kernel, and is used only where every bit is equal.
"""

import logging
from collections import Counter
from typing import Any, NamedTuple

import torch

from engine.conditions.cuda.expression_vm import Form
from engine.conditions.cuda.kernels import compare_form_kernel, compare_kernel
from engine.runtime.compiling.launch import launch, only_compiles
from engine.runtime.cuda.watchdog import to_host

LOG = logging.getLogger(__name__)

PAYS_AFTER = 2**36
"""Operations, each at one bar of one individual: half a second of the kernel that takes data."""

WORDS = 8
"""Words that a program decides."""

PROGRAMS = 65_536
"""Programs that keep a large device busy."""

MOST_SHARES = 65_535
"""Programs along the second axis of a grid."""


class CodedComparison(NamedTuple):
    """A comparison of two formulas."""

    asked: torch.Tensor  # as `compare_kernel` takes it
    left: Form  # form of its left side
    right: Form  # form of its right side
    relation: int  # number of its relation


class Read(NamedTuple):
    """Operands that comparisons read of a population."""

    code: torch.Tensor  # instructions of all formulas
    constants: torch.Tensor  # their numbers
    genomes: torch.Tensor  # [P, G]
    slots: torch.Tensor  # [P, R]
    rows: torch.Tensor  # [slots, T]
    members: torch.Tensor  # [1 + n] how many sets of genes there are, and an individual of each
    n_bars: int  # bars T


class Comparing:
    """Decides comparisons on one device, and knows which forms have a kernel of their own."""

    def __init__(self) -> None:
        self._done: Counter[tuple[Form, Form, int]] = Counter()
        self._is_equal: dict[tuple[Form, Form, int], bool] = {}

    @property
    def n_settled(self) -> int:
        """Forms of which is known whether a kernel of their own decides them."""
        return len(self._is_equal)

    def count(self, comparison: CodedComparison, n_bars: int, n_sets: int) -> bool:
        """Count what is decided next, for so many sets of genes; returns whether it waits for that.

        It does where a kernel of the form decides beside the other for the first time.
        """
        form = comparison[1:]
        self._done[form] += (len(comparison.left) + len(comparison.right)) * n_bars * n_sets
        return self._is_due(form)

    def decide(self, comparison: CodedComparison, read: Read, words: torch.Tensor) -> None:
        """Write words [n, N] of the bars at which it holds for each set of genes."""
        form = comparison[1:]
        if self._is_equal.get(form, False):
            _by_form(comparison, read, words)
            return
        _by_data(comparison, read, words)
        if self._is_due(form) and not only_compiles():
            self._is_equal[form] = self._agrees(comparison, read, words)

    def _is_due(self, form: tuple[Form, Form, int]) -> bool:
        return form not in self._is_equal and self._done[form] >= PAYS_AFTER

    def _agrees(self, comparison: CodedComparison, read: Read, expected: torch.Tensor) -> bool:
        """Whether the kernel of a form finds what was found without it."""
        words_found = torch.empty_like(expected)
        _by_form(comparison, read, words_found)
        n_sets = int(to_host(read.members[0]))
        if torch.equal(words_found[:n_sets], expected[:n_sets]):
            return True
        LOG.warning(
            "a comparison compiled for this GPU gives other bits than the law: not used, and such "
            "conditions stay slower; the driver or Triton may be at fault"
        )
        return False


def _by_data(comparison: CodedComparison, read: Read, words: torch.Tensor) -> None:
    _launch(compare_kernel, comparison, read, words, WORDS=WORDS)


def _by_form(comparison: CodedComparison, read: Read, words: torch.Tensor) -> None:
    _launch(compare_form_kernel, comparison, read, words.view(torch.int32), LEFT=comparison.left,
            RIGHT=comparison.right, RELATION=comparison.relation, HALVES=2 * WORDS)  # fmt: skip


def _launch(
    kernel: object, comparison: CodedComparison, read: Read, out: torch.Tensor, **constants: Any
) -> None:
    """Launch either kernel for out [n, N] words, or [n, 2 N] halves of them."""
    n, width = out.shape
    blocks = -(-width * out.element_size() // (8 * WORDS))
    # A program decides its bars for a share of the individuals, one after another.
    shares = max(1, min(n, PROGRAMS // blocks, MOST_SHARES))
    launch(kernel, (blocks, shares), *read[:2], comparison.asked, *read[2:6], out,
           read.genomes.shape[1], read.slots.shape[1], read.n_bars, read.n_bars, width,
           **constants)  # fmt: skip
