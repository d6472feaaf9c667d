"""Flags, commands, settings and goals of other programs, and our words for them.

An unknown word is answered from these rows, of which a page of the reference is made.
"""

import re
from collections.abc import Mapping

from data.errors import near_match
from strategy.errors import unknown

ACCOUNT = "`account=account(cash, SIZE)` in the strategy's file"
BUDGET = "`--population` times `--generations`, or `--max-evaluations`"
DRAWDOWN = "`max_drawdown`, of closed trades; `max_drawdown_marked` of all bars; shares above 0"
COSTS = "`--fee-bp`, basis points a side: 10 are a share of 0.001"
FILLS = "none: the next open fills what a close decides"
LIVE = "none: `signal` says what is to be placed, and places nothing"
ONE_POSITION = "none: one position at a time"
PAGE = "`report`"
RANGE = "`--from` and `--to`"
SERIES = "`--data`, repeated: `ccxt:EXCHANGE:SYMBOL:TIMEFRAME:FROM`, or a file"
SLIPPAGE = "`--slippage-bp`, basis points a side: 10 are a share of 0.001"
SOURCES = "a source `ccxt:EXCHANGE:SYMBOL:TIMEFRAME:FROM` of `--data`"
STUDIES = "`runs list`"

OURS: Mapping[str, Mapping[str, str]] = {
    "TradingView": {
        "symbol, symbols, ticker, tickers": SERIES,
        "interval, resolution": "`--timeframe`",
        "initial_capital, default_qty_type, default_qty_value": ACCOUNT,
        "commission_type, commission_value": COSTS,
        "slippage": SLIPPAGE,
        "pyramiding": ONE_POSITION,
        "process_orders_on_close, calc_on_every_tick, calc_on_order_fills": FILLS,
        "use_bar_magnifier": "`--finer`",
        "Net Profit": "`total_return`",
        "Percent Profitable": "`win_rate`",
        "Total Trades": "`trades`",
        "Max Drawdown": DRAWDOWN,
    },
    "freqtrade": {
        "hyperopt": "`evolve`",
        "backtesting": "`backtest`",
        "lookahead-analysis, recursive-analysis": "a part of every `judge`",
        "download-data": "`data fetch`",
        "convert-data, trades-to-ohlcv, convert-trade-data": "`data import`",
        "list-data": "`data list`",
        "list-exchanges, list-markets, list-pairs, test-pairlist": SOURCES,
        "list-strategies, new-strategy": "`strategies list`, `strategies new`",
        "list-hyperoptloss": "`objectives list`",
        "hyperopt-list": STUDIES,
        "hyperopt-show, backtesting-show, show-trades": "`runs show`",
        "backtesting-analysis, plot-dataframe, plot-profit": PAGE,
        "webserver, install-ui": "`ui`",
        "new-config, show-config": "`config`",
        "create-userdir": "none is needed: runs are in the folder `runs`, or in that of `--runs`",
        "trade, --dry-run, --db-url": LIVE,
        "-c": "`--config`, a TOML file",
        "-d, --datadir, --userdir, --user-data-dir, --data-format-ohlcv": "`--data`, a file's path",
        "-p, --pairs, --pairs-file, --exchange": SERIES,
        "-i, --ticker-interval": "`--timeframe`",
        "--timeframe-detail": "`--finer`",
        "--timerange, --days, --new-pairs-days": RANGE,
        "-s, --strategy-list, --strategy-path, --recursive-strategy-search": (
            "`--strategy`, one a run: a name or a file"
        ),
        "-e, --epochs": BUDGET,
        "--hyperopt-loss, --hyperoptloss": "`--objectives`: a front of several, not one loss",
        "--spaces, --hyperopt-path": "genes of the strategy, which `--bound` narrows",
        "--random-state": "`--seed`",
        "-j, --job-workers": "`--threads`",
        "--early-stop": "`--patience`",
        "--fee": COSTS,
        "--max-open-trades": "`--max-positions`",
        "--stake-amount, --stake-currency, --starting-balance, --dry-run-wallet": ACCOUNT,
        "--eps, --enable-position-stacking": ONE_POSITION,
        "--enable-protections": "`cooldown=` in the strategy's file",
        "--export, --export-filename, --backtest-filename, --backtest-directory": "`runs export`",
        "--breakdown, --print-all": PAGE,
        "--print-json": "`--json`",
        "--erase": "`--refetch` of `data fetch`",
        "--freqaimodel, --freqai-backtest-live-models": "`forecast fit`, forecasts as columns",
        "--logfile, --no-color": "none: notes go to stderr, plain where it is no terminal",
        "SharpeHyperOptLoss, SharpeHyperOptLossDaily": "`sharpe`",
        "SortinoHyperOptLoss, SortinoHyperOptLossDaily": "`sortino`",
        "CalmarHyperOptLoss": "`calmar`",
        "OnlyProfitHyperOptLoss": "`total_return`",
        "MaxDrawDownHyperOptLoss, MaxDrawDownRelativeHyperOptLoss": "`max_drawdown`",
        "ProfitDrawDownHyperOptLoss, MultiMetricHyperOptLoss, ShortTradeDurHyperOptLoss": (
            "several objectives, such as `total_return,max_drawdown`, or one formula"
        ),
    },
    "backtesting.py": {
        "optimize, Backtest.optimize": "`evolve`",
        "plot, Backtest.plot": PAGE,
        "cash": ACCOUNT,
        "commission": COSTS,
        "spread": SLIPPAGE,
        "margin": (
            "none needed and no limit: a near stop makes a large position. With `account=` a trade "
            "that has cost all of it ends by `margin`. `median_leverage` and `max_leverage` say "
            "how large, as multiples of the account"
        ),
        "trade_on_close": FILLS,
        "hedging, exclusive_orders": ONE_POSITION,
        "maximize": "`--objectives`",
        "method": "`--search lattice` for a grid, `--step GENE=STEP` says how fine",
        "max_tries": BUDGET,
        "random_state": "`--seed`",
        "return_heatmap": (
            "`runs export RUN grid.csv --what points` has every point with all metrics, "
            '`run.plot.heatmap("quick", "slow")` draws two genes, `run.grid` has them as a frame'
        ),
        "SQN": "`strength`, which is close to it",
        "Return [%], Equity Final [$], Equity Peak [$]": "`total_return`",
        "Return (Ann.) [%], CAGR [%]": "`cagr`",
        "Sharpe Ratio": "`sharpe` of trades; `sharpe_daily` of days is shown beside it",
        "Sortino Ratio": "`sortino` of trades; `sortino_daily` of days is shown beside it",
        "Calmar Ratio": "`calmar`",
        "Max. Drawdown [%]": DRAWDOWN,
        "Win Rate [%]": "`win_rate`",
        "# Trades": "`trades`",
        "Exposure Time [%]": "`exposure`",
        "Expectancy [%], Avg. Trade [%]": "`expectancy`",
    },
    "vectorbt": {
        "init_cash, size, size_type": ACCOUNT,
        "fees, fixed_fees": COSTS,
        "slippage": SLIPPAGE,
        "freq": "`--timeframe`",
        "sl_stop, sl_trail, tp_stop": (
            "`stop=`, `trail=`, `target=` of `share(0.02)`; also distances, levels and R"
        ),
        "cash_sharing, group_by": "several `--data`: one account",
        "accumulate": ONE_POSITION,
        "rolling_split, range_split, expanding_split": "`--folds` of `judge`",
        "total_return, Total Return [%]": "`total_return`",
        "sharpe_ratio": "`sharpe`",
        "sortino_ratio": "`sortino`",
        "calmar_ratio": "`calmar`",
        "omega_ratio": "`profit_factor`, which is close to it at a threshold of 0",
    },
    "backtrader": {
        "cerebro, btrun": "`evolve`, or `backtest`",
        "addstrategy, optstrategy": "`--strategy`, one a run: its genes are searched",
        "setcash": ACCOUNT,
        "setcommission, percabs, stocklike": COSTS,
        "slip_perc, slip_fixed": SLIPPAGE,
        "--fromdate, --todate": RANGE,
        "--compression, resampledata": "`--timeframe`",
        "replaydata": "`--finer`",
        "--csvformat": "none: `data show` says how a file was read",
        "--analyzer, --observer, --writer": PAGE,
        "addsizer, --sizer": ACCOUNT,
        "maxcpus": "`--threads`",
        "cheat_on_open, cheat_on_close, coc, coo": FILLS,
        "bt.Cerebro.plot": "`--plot` of `backtest`",
    },
    "jesse": {
        "optimize": "`evolve`",
        "import-candles": "`data fetch`",
        "make-strategy": "`strategies new`",
        "run": "`ui` shows runs, `evolve` makes one",
        "live, paper, paper-trade": LIVE,
        "monte-carlo": (
            "rows of `judge`: other orders of trades; shuffled and mirrored bars, where the whole "
            "search is repeated"
        ),
        "significance-test": "the null searches of `judge`: of the search, not of one rule",
        "routes, data_routes": "`--data`, repeated; a strategy has `higher(...)`, `column(...)`",
        "start_date, finish_date, end_date": RANGE,
        "cpu, cpu_cores": "`--threads`",
        "balance": ACCOUNT,
        "optimal_total": "`--min-trades`; more trades are an objective only where it is named",
        "objective_function": "`--objective`, a formula of metrics",
        "testing_period, training_period": "`--holdout`, closed until `judge --open`",
        "warm_up_candles, warmup_candles": "none: a strategy knows how many bars it reads",
        "full_reports, chart": PAGE,
        "tradingview": "`runs export --as pine`",
        "hyperparameters, hp, dna": "genes; `--genes FILE`, `--run RUN --member N`",
        "smart sharpe, smart sortino, omega, serenity": "`sharpe` or `sortino`",
    },
    "Optuna": {
        "study, create-study, study-optimize": "`evolve`",
        "studies": STUDIES,
        "trial, trials": "candidates of a run: `runs show`",
        "best-trial, best-trials": "the pick, the front: `runs show`",
        "delete-study": "`runs delete`",
        "dashboard, optuna-dashboard": (
            "`runs export RUN study.journal`, then the same dashboard; `ui` is ours"
        ),
        "--direction, --directions": "`--objectives`, such as `sharpe,trades:min`",
        "--n-trials": BUDGET,
        "--timeout": "`--max-seconds`",
        "--n-jobs": "`--threads`",
        "--storage": "`--runs`",
        "--study-name": "`--tag`",
        "--load-if-exists, --skip-if-exists": "`--resume`, to the same bits",
        "--sampler, NSGAIISampler, TPESampler, GridSampler, RandomSampler": (
            "`--search genetic` or `lattice`; `--survival crowding` is NSGA-II's"
        ),
        "--pruner, MedianPruner": "none: a candidate costs microseconds",
        "constraints_func": '`--constraint "max_drawdown <= 20%"`, hard, or `soft`',
        "enqueue_trial": "`--warm-start FILE`",
    },
    "other programs": {
        "walk-forward, walk-forward-analysis, wfo, wfa": "`--folds`, or `--every` with `--train`",
        "grid, grid-search": "`evolve --search lattice`",
        "optimise, optimization, search": "`evolve`",
        "init, new": "`strategies new`",
        "download": "`data fetch`",
        "ls, rm, remove": "`runs list`, `runs delete`",
        "--metric, --fitness": "`--objectives`",
        "--range, --param, --params": "`--bound GENE=LOW:HIGH`, or `--set` of `backtest`",
        "--fix": "`--bound GENE=VALUE`",
        "--stop, --stoploss, --stop-loss": "`stop=` in the strategy's file",
        "--take-profit, --takeprofit": "`target=` in the strategy's file",
        "--stake, --leverage": ACCOUNT,
        "--file, --input, --csv": "`--data`",
        "--output, --output-file": "the folder of `--runs`; `runs export`, `report --out FILE`",
        "help, -h": "`--help`",
        "-v, --verbose": "none: progress shows unless `--quiet` is given, `--debug` shows errors",
        "--gpu, --cuda": "`--device cuda`",
        "--workers, --jobs, --cores, --processes": "`--threads`",
        "--pop-size, --population-size": "`--population`",
        "--iterations, --n-iter": BUDGET,
    },
}
"""Words of other programs by the program, with ours for them; those of the page are in ticks."""


def fold_name(text: str) -> str:
    """A name as it is compared: without dashes, underscores, blanks, case, and what ends a keyword.

    A short flag keeps its dash and its case.

    >>> fold_name("--max-open-trades"), fold_name("maxOpenTrades"), fold_name("-j")
    ('maxopentrades', 'maxopentrades', '-j')
    """
    if re.fullmatch(r"-\w", text):
        return text
    return re.sub(r"[-_\s]|=$", "", text).lower()


def describe_other(text: str, *, only_flags: bool = False) -> str:
    """Sentence on a word of another program, with ours for it; empty where the table lacks it.

    `only_flags` leaves out its commands and settings.

    >>> describe_other("--timerange")
    "--timerange is freqtrade's: here --from and --to"
    """
    owners: dict[str, list[str]] = {}
    for program, rows in OURS.items():
        for theirs, ours in rows.items():
            names = [name for name in theirs.split(", ") if name[0] == "-" or not only_flags]
            if fold_name(text) in map(fold_name, names):
                owner = f"{program}'" if program.endswith("s") else f"{program}'s"
                owners.setdefault(ours.replace("`", ""), []).append(owner)
    answers = [f"{' and '.join(names)}: here {ours}" for ours, names in owners.items()]
    return f"{text} is {'; '.join(answers)}" if answers else ""


def describe_unknown(kind: str, name: str, known: list[str]) -> str:
    """One line for an error on a name that is not known: the near one, ours for it, or all."""
    answer = "" if near_match(name, known) else describe_other(name)
    return f"{kind} {answer}" if answer else unknown(kind, name, known)
