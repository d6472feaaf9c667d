"""The backend of GPUs: series and rows on a device, and all launches.

Every launch goes through one wrapper that turns fused multiply-add off; with it, float64
``+ - * /`` and square roots equal the CPU's in every bit.
"""
