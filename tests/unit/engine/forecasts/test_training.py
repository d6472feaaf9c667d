"""Networks that are trained side by side, held against plain PyTorch."""

import numpy as np
import pytest
import torch

from engine.forecasts.training import Trainer, Training, TrainingStack, count_weights
from tests.support.plain_networks import trained_alone

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
