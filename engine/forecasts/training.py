"""Networks over the last bars, many trained side by side on one device: K models, one step for all.

A network is a plain function of weights and windows, `x: [K, N, W, F] -> [K, N]`, built of batched
matrix products alone: every tensor leads with the model, and no model of a stack can touch another.
A stack always has the same shape, for any of its outputs. So a model's bits do not depend on which
others are trained beside it, and forecasts up to a bar stay the same when later folds are added. A
GPU gets all it needs before the first step, and takes its steps as one captured graph.
"""

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softmax

from engine.errors import DeviceError
from engine.runtime.cuda.capture import capture_graph, make_capture_stream

Weights = Mapping[str, Tensor]
Shape = tuple[int, ...]

HEADS = 2
"""Heads of attention."""


class Network(NamedTuple):
    """A kind of network."""

    # From inputs F, hidden units H and window W to the shape of each weight of one model; the
    # first number of a shape is how many inputs it has, 0 for a bias.
    shapes: Callable[[int, int, int], dict[str, Shape]]
    # From weights [K, ...] and windows [K, N, W, F] to outputs [K, N].
    forward: Callable[[Weights, Tensor], Tensor]


def _gru_shapes(inputs: int, hidden: int, window: int) -> dict[str, Shape]:
    return {"in": (inputs, 3 * hidden), "in_b": (0, 3 * hidden), **_state(hidden, 3)}


def _gru(w: Weights, x: Tensor) -> Tensor:
    """Gated recurrent unit, one layer. Source: Cho et al. 2014, in the form of cuDNN."""
    projected = _over_bars(x, w["in"], w["in_b"])  # [K, N, W, 3H]
    state = torch.zeros_like(projected[:, :, 0, : projected.shape[3] // 3])
    for now in projected.unbind(2):
        parts = [2 * state.shape[2], state.shape[2]]
        of_inputs, kept = (
            torch.split(now, parts, 2),
            torch.split(_linear(state, w, "state"), parts, 2),
        )
        reset, update = torch.sigmoid(of_inputs[0] + kept[0]).chunk(2, 2)
        new = torch.tanh(of_inputs[1] + reset * kept[1])
        state = new + update * (state - new)
    return _out(state, w)


def _lstm_shapes(inputs: int, hidden: int, window: int) -> dict[str, Shape]:
    return {"in": (inputs, 4 * hidden), "in_b": (0, 4 * hidden), **_state(hidden, 4)}


def _lstm(w: Weights, x: Tensor) -> Tensor:
    """Long short-term memory, one layer. Source: Gers, Schmidhuber, Cummins 2000."""
    projected = _over_bars(x, w["in"], w["in_b"])  # [K, N, W, 4H]
    state = torch.zeros_like(projected[:, :, 0, : projected.shape[3] // 4])
    cell = torch.zeros_like(state)
    for now in projected.unbind(2):
        parts = [3 * state.shape[2], state.shape[2]]
        gates, new = torch.split(now + _linear(state, w, "state"), parts, 2)
        taken, kept, shown = torch.sigmoid(gates).chunk(3, 2)
        cell = kept * cell + taken * torch.tanh(new)
        state = shown * torch.tanh(cell)
    return _out(state, w)


def _tcn_shapes(inputs: int, hidden: int, window: int) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {"in": (inputs, hidden), "in_b": (0, hidden)}
    for layer in range(_doublings(window)):
        shapes |= {f"{layer}": (2 * hidden, hidden), f"{layer}_b": (0, hidden)}
    return shapes | _end(hidden)


def _tcn(w: Weights, x: Tensor) -> Tensor:
    """Causal convolutions of width 2, dilated 1, 2, 4, ..., each with a residual.

    Only the last bar's output is needed, and it reads a tree: of each pair of neighbours one
    value is left, layer by layer. Source: van den Oord et al. 2016; Bai, Kolter, Koltun 2018.
    """
    layers = _doublings(x.shape[2])
    missing = 2**layers - x.shape[2]
    # A bar that there is not is an average one.
    x = torch.nn.functional.pad(x, (0, 0, missing, 0))
    values = torch.relu(_over_bars(x, w["in"], w["in_b"]))  # [K, N, 2^L, H]
    for layer in range(layers):
        k, n, bars, hidden = values.shape
        pairs = values.reshape(k, n, bars // 2, 2 * hidden)
        layer_output = torch.relu(_over_bars(pairs, w[f"{layer}"], w[f"{layer}_b"]))
        values = pairs[..., hidden:] + layer_output
    return _out(values[:, :, 0], w)


def _attention_shapes(inputs: int, hidden: int, window: int) -> dict[str, Shape]:
    square = (hidden, hidden)
    shapes: dict[str, Shape] = {
        "in": (inputs, hidden),
        "in_b": (0, hidden),
        "place": (-1, window, hidden),
    }
    shapes |= {"query": square, "query_b": (0, hidden), "key": square, "key_b": (0, hidden)}
    shapes |= {"value": square, "value_b": (0, hidden)}
    return shapes | {"mixed": square, "mixed_b": (0, hidden)} | _end(hidden)


def _attention(w: Weights, x: Tensor) -> Tensor:
    """The last bar attends to all bars of the window. Source: Vaswani et al. 2017."""
    bars = torch.tanh(_over_bars(x, w["in"], w["in_b"]) + w["place"][:, None])  # [K, N, W, H]
    k, n, window, hidden = bars.shape
    last = bars[:, :, -1]
    queries = _linear(last, w, "query").reshape(k, n, 1, HEADS, hidden // HEADS)
    keys = _over_bars(bars, w["key"], w["key_b"]).reshape(k, n, window, HEADS, hidden // HEADS)
    values = _over_bars(bars, w["value"], w["value_b"]).reshape(keys.shape)
    scores = (queries * keys).sum(4) / math.sqrt(hidden // HEADS)  # [K, N, W, HEADS]
    seen = (softmax(scores, 2)[..., None] * values).sum(2).reshape(k, n, hidden)
    return _out(last + torch.relu(_linear(seen, w, "mixed")), w)


def _state(hidden: int, gates: int) -> dict[str, Shape]:
    return {"state": (hidden, gates * hidden), "state_b": (0, gates * hidden), **_end(hidden)}


def _end(hidden: int) -> dict[str, Shape]:
    return {"out": (hidden, 1), "out_b": (0, 1)}


def _doublings(window: int) -> int:
    return max(window - 1, 0).bit_length()


def _linear(x: Tensor, w: Weights, name: str) -> Tensor:
    """[K, N, I] to [K, N, O]."""
    return torch.baddbmm(w[f"{name}_b"][:, None], x, w[name])


def _over_bars(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[K, N, W, I] to [K, N, W, O], the same at every bar."""
    k, n, window, inputs = x.shape
    flat = torch.baddbmm(bias[:, None], x.reshape(k, n * window, inputs), weight)
    return flat.reshape(k, n, window, -1)


def _out(state: Tensor, w: Weights) -> Tensor:
    return _linear(state, w, "out")[..., 0]


NETWORKS: Mapping[str, Network] = {
    "gru": Network(_gru_shapes, _gru),
    "tcn": Network(_tcn_shapes, _tcn),
    "lstm": Network(_lstm_shapes, _lstm),
    "attention": Network(_attention_shapes, _attention),
}
"""Every kind of network by its name."""


Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MOST_DEVIATIONS = 5.0
"""Features further from their mean are taken as so far: a split or a typing error is no news."""

ASKED_AT_ONCE = 1024
"""Windows of each model in a call without training; part of the shape that decides bits."""

LARGEST_STEP = 1.0
"""Norm to which a model's gradient is cut."""

MOMENTS, TINY = (0.9, 0.999), 1e-8
"""Numbers of Adam, as its authors propose them."""

UNCAPTURED = 3
"""Steps that a GPU takes before one is captured: libraries must have made room for themselves."""


@dataclass(frozen=True)
class Training:
    """How networks are trained."""

    model: str  # a name in `NETWORKS`
    window: int  # bars that a network sees
    hidden: int  # units; even
    steps: int  # of Adam, always so many
    batch: int  # windows of each model in a step
    rate: float = 1e-2  # the largest learning rate; it falls to nothing along a half cosine
    decay: float = 1.0  # decoupled decay of weights, a step and rate
    device: str = "cpu"  # ``cpu``, ``cuda`` or one GPU by number
    is_bf16: bool = False  # products in bfloat16, weights and Adam in float32; on a GPU only
    threads: int = 1  # of the CPU


@dataclass(frozen=True, eq=False)
class TrainingStack:
    """Training rows and questions of K models."""

    uniforms: Singles  # [K, P], 0 to 1, from which weights begin
    places: Ints  # [K, steps, batch], rows of the windows' last bars
    asked: Ints  # [K, Q], rows of requested forecasts
    centre: Singles  # [K, F], subtracted from features
    scale: Singles  # [K, F], by which they are then divided
    targets: Singles  # [K, 2], offset of targets and their divisor


def count_weights(how: Training, inputs: int) -> int:
    """Weights of one model, P."""
    shapes = NETWORKS[how.model].shapes(inputs, how.hidden, how.window)
    return sum(math.prod(_size(shape)) for shape in shapes.values())


class Trainer:
    """Trains stacks on features [R, F], a row a bar, and targets [R], which stay on the device."""

    def __init__(self, features: Singles, targets: Singles, how: Training) -> None:
        self._how = how
        self._features, self._targets = self._to_device(features), self._to_device(targets)
        self._network = NETWORKS[how.model]
        self._shapes = self._network.shapes(features.shape[1], how.hidden, how.window)

    def train(self, stack: TrainingStack) -> tuple[Singles, Singles]:
        """Train a stack from its beginning.

        Returns:
            Forecasts [K, Q] in the unit of the targets, and the weights [K, P].

        Raises:
            DeviceError: When the device has too little memory.
        """
        try:
            with _deterministic(self._how.threads):
                return self._train_stack(stack)
        except torch.OutOfMemoryError:
            pass
        raise DeviceError(
            f"device '{self._how.device}' has no room for {len(stack.places)} networks side by "
            "side: use a smaller --stack"
        )

    def _train_stack(self, stack: TrainingStack) -> tuple[Singles, Singles]:
        how = self._how
        weights = self._initialize_weights(stack).requires_grad_()
        centre, scale, targets = map(self._to_device, (stack.centre, stack.scale, stack.targets))
        batches = self._to_device(stack.places.swapaxes(0, 1))  # [steps, K, batch]
        # What changes from step to step lies on the device, where a captured step finds it.
        paces = self._to_device(_paces(how))
        taken = torch.zeros(1, dtype=torch.int64, device=paces.device)
        first, second = torch.zeros_like(weights), torch.zeros_like(weights)

        def step() -> None:
            rows, pace = batches.index_select(0, taken)[0], paces.index_select(0, taken)[0]
            wanted = (self._targets[rows] - targets[:, :1]) / targets[:, 1:]
            outputs = self._outputs(weights, self._windows(rows, centre, scale))
            (gradient,) = torch.autograd.grad(((outputs - wanted) ** 2).mean(1).sum(), [weights])
            with torch.no_grad():
                gradient = _cut(gradient)
                first.lerp_(gradient, 1 - MOMENTS[0])
                second.lerp_(gradient * gradient, 1 - MOMENTS[1])
                weights.mul_(pace[0]).sub_(pace[1] * first / (second.sqrt() * pace[2] + TINY))
                taken.add_(1)

        (_take_captured if paces.is_cuda else _take)(step, how.steps, paces.device)
        with torch.no_grad():
            parts = [
                self._outputs(weights, self._windows(self._to_device(part), centre, scale))
                for part in _in_parts(stack.asked)
            ]
            outputs = torch.cat(parts, 1)[:, : stack.asked.shape[1]]
            outputs = targets[:, :1] + targets[:, 1:] * outputs
        return outputs.cpu().numpy(), weights.detach().cpu().numpy()

    def _outputs(self, weights: Tensor, windows: Tensor) -> Tensor:
        kind = torch.bfloat16 if self._how.is_bf16 else torch.float32
        return self._network.forward(
            self._split_weights(weights.to(kind)), windows.to(kind)
        ).float()

    def _windows(self, rows: Tensor, centre: Tensor, scale: Tensor) -> Tensor:
        """Scaled features [K, N, W, F] of the windows that end at rows [K, N]."""
        back = torch.arange(1 - self._how.window, 1, device=rows.device)
        windows = self._features[rows[..., None] + back]
        windows = (windows - centre[:, None, None]) / scale[:, None, None]
        return windows.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)

    def _split_weights(self, weights: Tensor) -> dict[str, Tensor]:
        """Weights [K, P] by name, [K, ...] each."""
        sizes = [_size(shape) for shape in self._shapes.values()]
        parts = torch.split(weights, [math.prod(size) for size in sizes], 1)
        return {
            name: part.reshape(-1, *size)
            for name, part, size in zip(self._shapes, parts, sizes, strict=True)
        }

    def _initialize_weights(self, stack: TrainingStack) -> Tensor:
        """Weights of the beginning: uniform within the root of 3 over the inputs, biases 0."""
        parts, begin = [], 0
        for shape in self._shapes.values():
            end = begin + math.prod(_size(shape))
            reach = math.sqrt(3 / shape[0]) if shape[0] > 0 else 0.1 if shape[0] < 0 else 0.0
            parts.append((2 * stack.uniforms[:, begin:end] - 1) * np.float32(reach))
            begin = end
        return self._to_device(np.concatenate(parts, 1))

    def _to_device(self, array: Singles | Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._how.device)


def _size(shape: Shape) -> Shape:
    """Shape of a weight: a bias has no inputs, a weight by bar has its own first number."""
    return shape if shape[0] > 0 else shape[1:]


def _paces(how: Training) -> Singles:
    """Numbers of each step: kept share of a weight, step size, and growth of the second root.

    Source: Loshchilov, Hutter 2019. Made here as `torch.optim` takes a second to begin and would
    ask the host between captured steps.
    """
    count = np.arange(how.steps)
    rates = how.rate * np.array([_falling(step / how.steps) for step in count.tolist()])
    unbiased = [1 - moment ** (count + 1) for moment in MOMENTS]
    paces = [1 - rates * how.decay, rates / unbiased[0], 1 / np.sqrt(unbiased[1])]
    return np.stack(paces, 1).astype(np.float32)


def _falling(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def _cut(gradient: Tensor) -> Tensor:
    """Each model's gradient [K, P], cut to `LARGEST_STEP`."""
    norms: Tensor = gradient.norm(dim=1, keepdim=True)
    return gradient * (LARGEST_STEP / (norms + 1e-12)).clamp(max=1.0)


def _take(step: Callable[[], None], steps: int, device: torch.device) -> None:
    for _ in range(steps):
        step()


def _take_captured(step: Callable[[], None], steps: int, device: torch.device) -> None:
    """Take the first steps one launch after the other, and the others as one graph each."""
    _take(step, min(steps, UNCAPTURED), device)
    if steps > UNCAPTURED:
        graph = torch.cuda.CUDAGraph()
        with capture_graph(graph, make_capture_stream(device)):
            step()
        for _ in range(steps - UNCAPTURED):
            graph.replay()
        # The whole device may not be waited for while another thread captures.
        torch.cuda.current_stream(device).synchronize()


def _in_parts(asked: Ints) -> Iterator[Ints]:
    """Rows [K, Q] in parts of one shape, the last filled with its first row."""
    for begin in range(0, asked.shape[1], ASKED_AT_ONCE):
        part = asked[:, begin : begin + ASKED_AT_ONCE]
        missing = ASKED_AT_ONCE - part.shape[1]
        yield np.concatenate([part, np.repeat(part[:, :1], missing, 1)], 1)


@contextlib.contextmanager
def _deterministic(threads: int) -> Iterator[None]:
    """The same bits each time on one device; former settings are put back."""
    # Read when the library of a GPU begins; only then may it use one order of sums.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    tf32 = torch.backends.cuda.matmul.allow_tf32
    # As torch.use_deterministic_algorithms(True), which imports a compiler first: a second or two.
    torch.set_deterministic_debug_mode("error")
    # Memory that is never read is not filled first.
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before[0])
        torch.utils.deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]
        torch.set_num_threads(before[1])
        torch.backends.cuda.matmul.allow_tf32 = tf32
