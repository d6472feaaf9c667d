"""The embedded default market: simulated, shipped as a file with its hashes."""
