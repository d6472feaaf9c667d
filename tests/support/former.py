"""What version 0.2.0 recorded of strategies of rows, comparisons and a bracket by name."""

ROWS = {
    "atr": ("atr", "true_range", "atr_window"),
    "close_location": ("level", "close_location", None),
    "fast": ("ema", "close", "ema_fast"),
    "range_z": ("zscore", "true_range", "z_window"),
    "slow": ("ema", "close", "ema_slow"),
    "volume_z": ("zscore", "volume", "z_window"),
}


def describe_former(spec):
    """Seller exhaustion as that version recorded it, with the genes of a strategy."""
    described = spec.described
    return {
        "name": "seller_exhaustion",
        "version": 1,
        "timeframe_s": 900,
        "genes": described["genes"],
        "constraints": ["ema_fast < ema_slow"],
        "rows": {
            name: {
                "indicator": indicator,
                "computed_as": indicator,
                "least": [],
                "reads": source,
                "parameters": [] if length is None else [length],
            }
            for name, (indicator, source, length) in ROWS.items()
        },
        "conditions": [
            "close_location > close_location_min",
            "fast < slow",
            "range_z > tr_z_min",
            "volume_z > vol_z_min",
        ],
        "bracket": {
            "stop_row": "atr",
            "stop_mult": "atr_stop_mult",
            "reward": "reward_r",
            "max_hold": "max_hold",
        },
        "warm_up_bars": described["warm_up_bars"],
    }
