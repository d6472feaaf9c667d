"""Networks that are trained side by side, held against plain PyTorch."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss, scaled_dot_product_attention

from engine.forecasts.training import (
    HEADS,
    LARGEST_STEP,
    MOST_DEVIATIONS,
    Trainer,
    Training,
    TrainingStack,
    count_weights,
)

ASKED_AT_ONCE = 8192


class Recurrent(nn.Module):
    """One layer of `nn.GRU` or `nn.LSTM`."""

    def __init__(self, kind, weights):
        super().__init__()
        gates, units = weights["state"].shape[1], weights["state"].shape[0]
        self.cells = kind(weights["in"].shape[0], units, batch_first=True)
        # This library's order of an LSTM's gates is in, forget, new, out; ours has new last.
        order = torch.arange(gates)
        if kind is nn.LSTM:
            taken, kept, shown, new = order.chunk(4)
            order = torch.cat([taken, kept, new, shown])
        values = self.cells
        for own, name in (
            (values.weight_ih_l0, "in"),
            (values.weight_hh_l0, "state"),
            (values.bias_ih_l0, "in_b"),
            (values.bias_hh_l0, "state_b"),
        ):
            own.data.copy_(weights[name].T[order] if own.ndim == 2 else weights[name][order])
        self.out = linear(weights, "out")

    def forward(self, x):
        """[N, W, F] to [N]."""
        return self.out(self.cells(x)[0][:, -1])[:, 0]


class Convolutions(nn.Module):
    """Causal convolutions of width 2 as a tree, of which the last bar is asked."""

    def __init__(self, weights):
        super().__init__()
        self.first, self.out = linear(weights, "in"), linear(weights, "out")
        names = [name for name in weights if name.isdigit()]
        self.layers = nn.ModuleList(linear(weights, name) for name in names)

    def forward(self, x):
        """[N, W, F] to [N]."""
        missing = 2 ** len(self.layers) - x.shape[1]
        values = torch.relu(self.first(nn.functional.pad(x, (0, 0, missing, 0))))
        for layer in self.layers:
            pairs = values.reshape(len(x), values.shape[1] // 2, -1)
            values = values[:, 1::2] + torch.relu(layer(pairs))
        return self.out(values[:, 0])[:, 0]


class Attention(nn.Module):
    """The last bar attends to all."""

    def __init__(self, weights):
        super().__init__()
        names = {"in": "first", "query": "query", "key": "key", "value": "value", "mixed": "mixed"}
        for name, own in names.items():
            setattr(self, own, linear(weights, name))
        self.out, self.place = linear(weights, "out"), nn.Parameter(weights["place"].clone())

    def forward(self, x):
        """[N, W, F] to [N]."""
        bars = torch.tanh(self.first(x) + self.place)

        def heads(values):
            return values.unflatten(2, (HEADS, -1)).transpose(1, 2)

        last = bars[:, -1]
        seen = scaled_dot_product_attention(
            heads(self.query(last[:, None])), heads(self.key(bars)), heads(self.value(bars))
        )
        return self.out(last + torch.relu(self.mixed(seen.flatten(1))))[:, 0]


def linear(weights, name):
    """`nn.Linear` with weights of ours."""
    made = nn.Linear(*weights[name].shape)
    made.weight.data.copy_(weights[name].T)
    made.bias.data.copy_(weights[f"{name}_b"])
    return made


MODULES = {
    "gru": lambda weights: Recurrent(nn.GRU, weights),
    "lstm": lambda weights: Recurrent(nn.LSTM, weights),
    "tcn": Convolutions,
    "attention": Attention,
}


def trained_alone(trainer, stack, model):
    """Forecasts [Q] of one network of a stack, trained alone from the same beginning."""
    how, device = trainer._how, trainer._how.device
    begun = trainer._split_weights(trainer._initialize_weights(stack)[model : model + 1].cpu())
    network = MODULES[how.model]({name: values[0] for name, values in begun.items()}).to(device)
    features, targets = trainer._features, trainer._targets
    centre, scale = (
        torch.from_numpy(values[model]).to(device) for values in (stack.centre, stack.scale)
    )
    mean, spread = stack.targets[model].tolist()
    positions = torch.from_numpy(stack.places[model]).to(device)
    back = torch.arange(1 - how.window, 1, device=device)

    def windows(rows):
        prediction = (features[rows[:, None] + back] - centre) / scale
        return prediction.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS)

    optimizer = torch.optim.AdamW(network.parameters(), lr=how.rate, weight_decay=how.decay)
    for step, rows in enumerate(positions):
        optimizer.param_groups[0]["lr"] = (
            how.rate * 0.5 * (1 + math.cos(math.pi * step / how.steps))
        )
        loss = mse_loss(network(windows(rows)), (targets[rows] - mean) / spread)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), LARGEST_STEP)
        optimizer.step()
    requests = torch.from_numpy(stack.asked[model]).to(device)
    with torch.no_grad():
        prediction = torch.cat([network(windows(rows)) for rows in requests.split(ASKED_AT_ONCE)])
    return (mean + spread * prediction).cpu().numpy()


INPUTS, ROWS, MODELS = 3, 600, 3


@pytest.fixture(autouse=True)
def _one_thread():
    """Networks this small are slower with more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def plant_function(how):
    """A trainer and a stack: each target is a known function of the last bars, and noise."""
    rng = np.random.Generator(np.random.PCG64(5))
    features = rng.standard_normal((ROWS, INPUTS)).astype(np.float32)
    signal = np.convolve(features[:, 0], np.ones(4) / 2)[:ROWS]
    targets = (np.sin(signal) + 0.3 * rng.standard_normal(ROWS)).astype(np.float32)
    stack = TrainingStack(
        uniforms=rng.random((MODELS, count_weights(how, INPUTS))).astype(np.float32),
        places=rng.integers(how.window, ROWS, (MODELS, how.steps, how.batch)),
        asked=np.tile(np.arange(how.window, ROWS), (MODELS, 1)),
        centre=np.zeros((MODELS, INPUTS), np.float32),
        scale=np.ones((MODELS, INPUTS), np.float32),
        targets=np.tile(np.array([0.1, 0.8], np.float32), (MODELS, 1)),
    )
    return Trainer(features, targets, how), stack, targets


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gru", "lstm", "tcn", "attention"])
def test_side_by_side_is_one_after_the_other(model):
    """The same forecasts as modules of plain PyTorch that begin and are fed alike."""
    trainer, stack, _ = plant_function(Training(model, window=7, hidden=4, steps=12, batch=16))
    together, _ = trainer.train(stack)
    for number in range(MODELS):
        alone = trained_alone(trainer, stack, number)
        np.testing.assert_allclose(together[number], alone, rtol=1e-3, atol=1e-4)
