"""The search on a device: population and archive stay there from generation to generation.

Everything here has the bits of the search on a host. Tensors are as large as a run can need them;
how many entries of them count is known on the device only, so that a generation is launched without
waiting and can be captured. Kernels run under Triton's interpreter too, on tensors of the host.
"""
