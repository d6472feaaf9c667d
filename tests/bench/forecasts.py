"""Whether models find what is planted, and nothing in noise: `python -m tests.bench.forecasts`.

Each seed is a market of its own; a line a model says how many were found and the gain in squared
error over the mean, with the standard error of its mean over the seeds.
"""

import argparse
import math

import numpy as np

from optimizer.forecasts.column import make_forecast
from optimizer.forecasts.settings import MODELS, ForecastSettings
from tests.support.planted_returns import planted_market

SHARES = {"planted": 0.3, "noise": 0.0}


def main():
    """Print a line for each model and kind of market."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--bars", type=int, default=4000)
    parser.add_argument("--models", nargs="*", default=[one for one in MODELS if one != "naive"])
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    print(f"{'model':10} {'market':8} found  gain over the mean  hits")
    for model in given.models:
        for kind, share in SHARES.items():
            skills = [_skill(model, seed, share, given) for seed in range(100, 100 + given.seeds)]
            gains = np.array([one.whole.against["the mean"].gain for one in skills])
            error = gains.std(ddof=1) / math.sqrt(len(gains))
            found = sum(one.has_skill for one in skills)
            hits = np.mean([one.whole.hits for one in skills])
            print(
                f"{model:10} {kind:8} {found:2} of {len(skills)} "
                f"{gains.mean():+8.2%} +- {error:.2%}  {hits:6.1%}",
                flush=True,
            )


def _skill(model, seed, share, given):
    settings = ForecastSettings(
        model=model,
        horizon=1,
        train=given.bars * 5 // 8,
        refit=given.bars * 3 // 8,
        features="returns, volume",
        stack=2,
        device=given.device,
    )
    return make_forecast([planted_market(seed, given.bars, share)], settings).record.skill


if __name__ == "__main__":
    main()
