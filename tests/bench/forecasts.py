"""Forecasts on a device: verified first, then timed, then held against what was planted.

    python -m tests.bench.forecasts [same twice cut speed planted] [--device cuda] [--bars 35040]
        [--models gru tcn] [--refits 24] [--seeds 8] [--steps 200] [--alone 24] [--markets 20]

Parts by name, all of them if none is named:

same     networks trained side by side against plain PyTorch one after the other, from the same
         weights and batches: forecasts after `FEW_STEPS` steps, mean squared errors after all.
twice    the same column, trained twice.
cut      trained again on bars that end earlier: every forecast before that has the same bits.
speed    24 refits x 8 seeds side by side; one after the other in plain PyTorch (`--alone` of them,
         times what is left); a stack of 16 on two cores, times what is left; for each length.
planted  a market a seed: whether what was planted is found, and nothing in noise; the gain in
         squared error over the mean with the standard error of its mean.

Nothing is timed where a bit or a loss differs, and the exit code is not 0.
"""

import argparse
import contextlib
import math
import sys
import time
import traceback

import numpy as np
import torch

from optimizer.forecasts.column import make_forecast
from optimizer.forecasts.features import build_samples
from optimizer.forecasts.fit import build_network_inputs, build_stack, build_training, fit
from optimizer.forecasts.plan import build_folds
from optimizer.forecasts.settings import MODELS, SIMPLE, ForecastSettings
from tests.support.plain_networks import trained_alone
from tests.support.planted_returns import planted_market

PARTS = ("same", "twice", "cut", "speed", "planted")
NETWORKS = [one for one in MODELS if one not in SIMPLE]
SHARES = {"planted": 0.3, "noise": 0.0}

FEW_STEPS = 10
FORECASTS_WITHIN = 1e-3
"""Of a forecast's own size, root mean square, after few steps; then only rounding differs."""

LOSSES_WITHIN = 0.01
"""Of the mean squared error after all steps; by then rounding has led to other weights."""

COARSE_WITHIN = 0.03
"""The same with products in bfloat16."""

TRAIN_SHARE = 8000 / 35040
CORES, CORES_STACK = 2, 16


class Stacked:
    """Refits x seeds of a model on a planted market, ready to be trained.

    Args:
        settings: What is asked; its stack holds all networks.
        bars: Of the market.
        models: Fold and seed of each network; all of them if None.
    """

    def __init__(self, settings, bars, models=None):
        # Here, as the device's libraries are loaded by it.
        from engine.forecasts.training import Trainer, count_weights

        samples = build_samples([planted_market(7, bars, 0.3)], settings)
        folds = build_folds(samples, settings)
        self.models = models or [(f, s) for s in range(settings.seeds) for f in range(len(folds))]
        self.how, self.folds, self.samples = build_training(settings), folds, samples
        count = count_weights(self.how, samples.features.shape[1])
        self.stack = build_stack(samples, folds, settings, self.models, count)
        self.trainer = Trainer(*build_network_inputs(samples), self.how)

    def losses(self, found):
        """Mean squared error of forecasts [K, Q] of each network, over known targets."""
        errors = []
        for (fold, _), own in zip(self.models, found, strict=False):
            rows = self.folds[fold].asked
            begin = len(self.folds[fold].checked)
            known = ~np.isnan(self.samples.target[rows])
            own = own[begin : begin + len(rows)][known]
            errors.append(float(((own - self.samples.target[rows][known]) ** 2).mean()))
        return np.array(errors)


def make_settings(given, model, bars, **changes):
    """24 refits or as many as asked, side by side in one stack."""
    train = int(bars * TRAIN_SHARE)
    refit = math.ceil((bars - train) / given.refits)
    return ForecastSettings(
        **{
            "model": model,
            "horizon": 1,
            "train": train,
            "refit": refit,
            "seeds": given.seeds,
            "steps": given.steps,
            "stack": given.refits * given.seeds,
            "device": given.device,
            **changes,
        }
    )


def small(given, model, **changes):
    """A few refits by two seeds, in more than one stack."""
    return ForecastSettings(
        **{
            "model": model,
            "horizon": 3,
            "window": 16,
            "train": 1500,
            "refit": 500,
            "steps": 40,
            "stack": 4,
            "device": given.device,
            **changes,
        }
    )


def same(given):
    """Side by side is one after the other."""
    bars = min(given.bars)
    for model in given.models:
        settings = make_settings(given, model, bars, steps=FEW_STEPS, seeds=1)
        few = Stacked(settings, bars)
        together, _ = few.trainer.train(few.stack)
        some = range(min(4, len(few.models)))
        alone = np.stack([trained_alone(few.trainer, few.stack, number) for number in some])
        apart = rms(together[: len(some)] - alone) / rms(alone)
        whole = Stacked(make_settings(given, model, bars, seeds=1), bars)
        count = min(given.alone, len(whole.models))
        together, _ = whole.trainer.train(whole.stack)
        alone = np.stack([trained_alone(whole.trainer, whole.stack, k) for k in range(count)])
        ours, theirs = whole.losses(together[:count]), whole.losses(alone)
        far = float(np.abs(ours / theirs - 1).max())
        message = f"{model}: {apart:.1e} apart after {FEW_STEPS} steps, losses of {count} networks "
        message += f"{ours.mean():.5f} and {theirs.mean():.5f}, {far:.2%} apart at most"
        require(apart < FORECASTS_WITHIN and far < LOSSES_WITHIN, message)
        if given.device != "cpu":
            coarse = Stacked(make_settings(given, model, bars, seeds=1, is_bf16=True), bars)
            losses = coarse.losses(coarse.trainer.train(coarse.stack)[0][:count])
            far = float(abs(losses.mean() / ours.mean() - 1))
            message = (
                f"{model} with --bf16: losses {losses.mean():.5f}, {far:.2%} apart in the mean"
            )
            require(far < COARSE_WITHIN, message)


def twice(given):
    """One column, in every bit."""
    series = [planted_market(3, 4000, 0.3)]
    for model in NETWORKS:
        for is_bf16 in (False, True)[: 1 + (given.device != "cpu")]:
            settings = small(given, model, is_bf16=is_bf16)
            records = [make_forecast(series, settings).record for _ in range(2)]
            is_same = records[0].column == records[1].column
            is_same &= records[0].weights == records[1].weights
            name = f"{model}{' with --bf16' if is_bf16 else ''}"
            require(is_same, f"{name}: column {records[0].column[:12]}, {records[1].column[:12]}")


def cut(given):
    """No forecast changes when bars are added after it."""
    bars = planted_market(4, 4000, 0.3)
    for model in NETWORKS:
        settings = small(given, model)
        whole, compared = fit([bars], settings), 0
        for end in (2687, 3300):
            earlier = fit([bars.until(end)], settings).values
            compared += int(np.isfinite(earlier).sum())
            is_same = whole.values[:end].tobytes() == earlier.tobytes()
            require(is_same, f"{model}: bars cut at {end:,}, {compared:,} forecasts compared")


def speed(given):
    """Side by side, one after the other, and on two cores."""
    print(
        f"{'model':14} {'bars':>8} {'networks':>9} {'side by side':>13} {'one by one':>11} "
        f"{'times':>6} {'GPU busy':>9} {'GPU memory':>11} {'two cores':>10}"
    )
    for bars in given.bars:
        for model in given.models:
            for is_bf16 in (False, True)[: 1 + (given.device != "cpu")]:
                print(line_of_speed(given, model, bars, is_bf16), flush=True)


def line_of_speed(given, model, bars, is_bf16):
    """A line of the table."""
    made = Stacked(make_settings(given, model, bars, is_bf16=is_bf16), bars)
    networks = len(made.models)
    made.trainer.train(made.stack)
    together, memory = time_work(lambda: made.trainer.train(made.stack), given.device, 3)
    busy = kernel_seconds(made) / together
    name, cells = f"{model}{' bf16' if is_bf16 else ''}", [f"{networks:9}", f"{together:11.2f} s"]
    if is_bf16:
        cells += [f"{'-':>11}", f"{'-':>6}"]
    else:
        count = min(given.alone, networks)
        trained_alone(made.trainer, made.stack, 0)
        alone, _ = time_work(
            lambda: [trained_alone(made.trainer, made.stack, k) for k in range(count)],
            given.device,
            1,
        )
        alone *= networks / count
        cells += [f"{alone:9.1f} s", f"{alone / together:6.1f}"]
    on_gpu = given.device != "cpu"
    cells.append(f"{busy:9.0%}" if on_gpu else f"{'-':>9}")
    cells.append(f"{memory / 2**30:7.2f} GiB" if on_gpu else f"{'-':>11}")
    cells.append(
        f"{'-':>10}" if is_bf16 or bars > min(given.bars) else two_cores(given, made, bars)
    )
    return f"{name:14} {bars:8,} {' '.join(cells)}"


def two_cores(given, made, bars):
    """Seconds of all networks on two cores, from one stack of them."""
    count = min(CORES_STACK, len(made.models))
    settings = make_settings(given, made.how.model, bars, device="cpu", threads=CORES, stack=count)
    here = Stacked(settings, bars, made.models[:count])
    seconds, _ = time_work(lambda: here.trainer.train(here.stack), "cpu", 1)
    return f"{seconds * len(made.models) / count:8.1f} s"


def time_work(work, device, repeats):
    """The median of seconds until a device is done, and the most memory that it took."""
    on_gpu, seconds = device != "cpu", []
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        if on_gpu:
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), torch.cuda.max_memory_allocated(device) if on_gpu else 0


def kernel_seconds(made):
    """Seconds in which a GPU ran a kernel or moved memory, of one training."""
    if made.how.device == "cpu":
        return 0.0
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        made.trainer.train(made.stack)
        torch.cuda.synchronize(made.how.device)
    spans = [
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in profiled.profiler.kineto_results.events()
        if event.device_type() == DeviceType.CUDA
    ]
    busy, until = 0, 0
    for begin, end in sorted(spans):
        busy += max(0, end - max(begin, until))
        until = max(until, end)
    return busy / 1e9


def print_planted(given):
    """What is planted is found, and nothing in noise."""
    print(f"{'model':10} {'market':8} found  gain over the mean  hits")
    for model in given.searched:
        for kind, share in SHARES.items():
            skills = [
                measure_skill(given, model, 100 + number, share) for number in range(given.markets)
            ]
            gains = np.array([number.whole.against["the mean"].gain for number in skills])
            error = gains.std(ddof=1) / math.sqrt(len(gains))
            skilled = sum(number.has_skill for number in skills)
            hits = np.mean([number.whole.hits for number in skills])
            print(
                f"{model:10} {kind:8} {skilled:2} of {len(skills)} "
                f"{gains.mean():+8.2%} +- {error:.2%}  {hits:6.1%}",
                flush=True,
            )


def measure_skill(given, model, seed, share):
    """Skill on one market of 4,000 bars."""
    settings = ForecastSettings(
        model=model,
        horizon=1,
        train=2500,
        refit=1500,
        features="returns, volume",
        stack=2,
        steps=given.steps,
        device=given.device,
    )
    return make_forecast([planted_market(seed, 4000, share)], settings).record.skill


def rms(values):
    """Root of the mean square."""
    return float(np.sqrt((values.astype(np.float64) ** 2).mean()))


def require(holds, message):
    """Print what was found; end the part where it does not hold."""
    print(f"  {message}", flush=True)
    if not holds:
        raise SystemExit(f"FAILED: {message}")


@contextlib.contextmanager
def plain_sums():
    """Products of plain PyTorch in full float32, as ours are."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def main():
    """Run the parts in their order; a part that fails is printed, and stops the timing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--bars", nargs="+", type=int, default=[35_040, 350_400])
    parser.add_argument("--models", nargs="+", choices=NETWORKS, default=["gru", "tcn"])
    parser.add_argument("--searched", nargs="+", choices=MODELS, default=["ridge", *NETWORKS])
    parser.add_argument("--refits", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--alone", type=int, default=24)
    parser.add_argument("--markets", type=int, default=20)
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; parts are {', '.join(PARTS)}")
    name = torch.cuda.get_device_name(given.device) if given.device != "cpu" else "CPU"
    print(f"{name}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    failed = []
    with plain_sums():
        for part in [one for one in PARTS if not given.parts or one in given.parts]:
            if part == "speed" and failed:
                print("speed: nothing is timed, for what comes before it failed")
                continue
            begin = time.perf_counter()
            print(f"\n{part}: {globals()[part].__doc__}", flush=True)
            try:
                globals()[part](given)
            except (Exception, SystemExit) as error:
                failed.append(part)
                if not isinstance(error, SystemExit):
                    traceback.print_exc()
                print(error, flush=True)
            print(f"  {time.perf_counter() - begin:.1f} s", flush=True)
    sys.exit(f"FAILED: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
