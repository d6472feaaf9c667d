"""What devices this machine offers to torch."""

import importlib.util


def describe_gpus() -> str:
    """Say which GPUs there are and whether they are used.

    Returns:
        One line for a person.
    """
    unused = "not used: this version has no CUDA backend"
    if importlib.util.find_spec("torch") is None:
        return f"{unused}, and torch is not installed"
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda or "no CUDA"
        return f"{unused}, and torch {torch.__version__} (built for {built}) sees none"
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{unused}; torch sees {', '.join(names)}"
