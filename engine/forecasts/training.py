"""Many networks trained side by side on one device: K models, one step for all of them.

A stack always has the same shape, whatever of it is asked for, and no number of one model enters
another. So a model's bits do not depend on which others are trained beside it, and forecasts up to
a bar stay what they are when later folds are added.
"""

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine.forecasts.networks import NETWORKS, Shape

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MOST_DEVIATIONS = 5.0
"""Features further from their mean are taken as so far: a split or a typing error is no news."""

ASKED_AT_ONCE = 1024
"""Windows of each model in a call without training; part of the shape that decides bits."""

LARGEST_STEP = 1.0
"""Norm to which a model's gradient is cut."""


@dataclass(frozen=True)
class Training:
    """How networks are trained.

    Args:
        model: A name in `NETWORKS`.
        window: Bars that a network sees.
        hidden: Units; even.
        steps: Of Adam, always so many.
        batch: Windows of each model in a step.
        rate: The largest learning rate; it falls to nothing along a half cosine.
        decay: Decoupled decay of weights, a step and rate.
        device: ``cpu``, ``cuda`` or one GPU by number.
        is_bf16: Products in bfloat16, weights and Adam in float32; on a GPU only.
        threads: Of the CPU.
    """

    model: str
    window: int
    hidden: int
    steps: int
    batch: int
    rate: float = 1e-2
    decay: float = 1.0
    device: str = "cpu"
    is_bf16: bool = False
    threads: int = 1


@dataclass(frozen=True, eq=False)
class Stack:
    """What K models are trained on and asked.

    Args:
        uniforms: [K, P], 0 to 1, from which weights begin.
        places: [K, steps, batch], rows of the windows' last bars.
        asked: [K, Q], rows at which a forecast is wanted.
        centre: [K, F], subtracted from features.
        scale: [K, F], by which they are then divided.
        targets: [K, 2], what is subtracted from targets and by which they are divided.
    """

    uniforms: Singles
    places: Ints
    asked: Ints
    centre: Singles
    scale: Singles
    targets: Singles


def count_weights(how: Training, inputs: int) -> int:
    """Weights of one model, P."""
    shapes = NETWORKS[how.model].shapes(inputs, how.hidden, how.window)
    return sum(math.prod(_size(shape)) for shape in shapes.values())


class Trainer:
    """Trains stacks on one table, which stays on the device.

    Args:
        features: [R, F], a row a bar, those of a series one after the other.
        targets: [R].
        how: The training.
    """

    def __init__(self, features: Singles, targets: Singles, how: Training) -> None:
        self._how = how
        self._features, self._targets = self._moved(features), self._moved(targets)
        self._network = NETWORKS[how.model]
        self._shapes = self._network.shapes(features.shape[1], how.hidden, how.window)

    def train(self, stack: Stack) -> tuple[Singles, Singles]:
        """Train a stack from its beginning.

        Returns:
            Forecasts [K, Q] in the unit of the targets, and the weights [K, P].
        """
        how = self._how
        with _deterministic(how.threads):
            weights = self._begun(stack).requires_grad_()
            optimizer = torch.optim.AdamW([weights], lr=how.rate, weight_decay=how.decay)
            given = stack.centre, stack.scale, stack.targets, stack.places
            centre, scale, targets, places = (self._moved(one) for one in given)
            for step in range(how.steps):
                optimizer.param_groups[0]["lr"] = how.rate * _falling(step / how.steps)
                rows = places[:, step]
                wanted = (self._targets[rows] - targets[:, :1]) / targets[:, 1:]
                found = self._outputs(weights, self._windows(rows, centre, scale))
                loss = ((found - wanted) ** 2).mean(1).sum()
                weights.grad = None
                loss.backward()  # type: ignore[no-untyped-call]
                _cut(weights.grad)
                optimizer.step()
            with torch.no_grad():
                parts = [
                    self._outputs(weights, self._windows(self._moved(part), centre, scale))
                    for part in _in_parts(stack.asked)
                ]
                found = torch.cat(parts, 1)[:, : stack.asked.shape[1]]
                found = targets[:, :1] + targets[:, 1:] * found
            return found.cpu().numpy(), weights.detach().cpu().numpy()

    def _outputs(self, weights: Tensor, windows: Tensor) -> Tensor:
        kind = torch.device(self._how.device).type
        with torch.autocast(kind, torch.bfloat16, enabled=self._how.is_bf16):
            return self._network.forward(self._named(weights), windows).float()

    def _windows(self, rows: Tensor, centre: Tensor, scale: Tensor) -> Tensor:
        """Scaled features [K, N, W, F] of the windows that end at rows [K, N]."""
        back = torch.arange(1 - self._how.window, 1, device=rows.device)
        found = self._features[rows[..., None] + back]
        found = (found - centre[:, None, None]) / scale[:, None, None]
        return found.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)

    def _named(self, weights: Tensor) -> dict[str, Tensor]:
        """Weights [K, P] by name, [K, ...] each."""
        found, begin = {}, 0
        for name, shape in self._shapes.items():
            size = _size(shape)
            end = begin + math.prod(size)
            found[name] = weights[:, begin:end].reshape(-1, *size)
            begin = end
        return found

    def _begun(self, stack: Stack) -> Tensor:
        """Weights of the beginning: uniform within the root of 3 over the inputs, biases 0."""
        parts, begin = [], 0
        for shape in self._shapes.values():
            end = begin + math.prod(_size(shape))
            reach = math.sqrt(3 / shape[0]) if shape[0] > 0 else 0.1 if shape[0] < 0 else 0.0
            parts.append((2 * stack.uniforms[:, begin:end] - 1) * np.float32(reach))
            begin = end
        return self._moved(np.concatenate(parts, 1))

    def _moved(self, array: Singles | Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._how.device)


def _size(shape: Shape) -> Shape:
    """Of a weight: a bias has no inputs, and what depends on the bar has its own first number."""
    return shape if shape[0] > 0 else shape[1:]


def _falling(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def _cut(gradient: Tensor | None) -> None:
    """Cut each model's gradient [K, P] to `LARGEST_STEP`."""
    assert gradient is not None
    norms = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((LARGEST_STEP / (norms + 1e-12)).clamp(max=1.0))


def _in_parts(asked: Ints) -> Iterator[Ints]:
    """Rows [K, Q] in parts of one shape, the last filled with its first row."""
    for begin in range(0, asked.shape[1], ASKED_AT_ONCE):
        part = asked[:, begin : begin + ASKED_AT_ONCE]
        missing = ASKED_AT_ONCE - part.shape[1]
        yield np.concatenate([part, np.repeat(part[:, :1], missing, 1)], 1)


@contextlib.contextmanager
def _deterministic(threads: int) -> Iterator[None]:
    """The same bits each time on one device; what was set before is put back."""
    # Read when the library of a GPU begins; only then may it use one order of sums.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.set_num_threads(before[1])
        torch.backends.cuda.matmul.allow_tf32 = tf32
