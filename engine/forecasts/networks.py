"""Networks over the last bars, K of them side by side: every tensor leads with the model.

Each is a plain function of weights and windows, `x: [K, N, W, F] -> [K, N]`, built of batched
matrix products alone, so that no model of a stack can touch another.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softmax

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
