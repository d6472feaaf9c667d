"""Networks that forecast, many of them trained side by side as one batched model."""
