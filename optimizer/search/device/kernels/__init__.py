"""What runs on a device, in Triton; who launches it lies one folder up."""
