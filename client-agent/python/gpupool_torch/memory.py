# SPDX-License-Identifier: Apache-2.0
"""Copies of tensors between a GPU and the processor that need no kernel: bytes as they lie in memory.

A tensor's copy has its shape and strides. Gaps between its elements, if any, are copied with it.
"""
import ctypes

import torch

_driver = ctypes.CDLL("libcuda.so.1")
_contexts = {}


def _check(result, call):
    if result != 0:
        text = ctypes.c_char_p()
        _driver.cuGetErrorName(result, ctypes.byref(text))
        raise RuntimeError(f"gpupool: {call} failed: {(text.value or b'unknown error').decode()}")


def _extent(tensor):
    """Returns the number of elements from the first to the last one, both included; 0 for an empty tensor."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))


def _context(device):
    """Returns a GPU's primary context, in which PyTorch works; threads of autograd have none of their own."""
    if device not in _contexts:
        context = ctypes.c_void_p()
        _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
        _contexts[device] = context
    return _contexts[device]


def _copy(call, tensor, *arguments):
    stream = ctypes.c_void_p(torch.cuda.current_stream(tensor.device).cuda_stream)
    _check(_driver.cuCtxPushCurrent_v2(_context(tensor.device.index)), "cuCtxPushCurrent")
    try:
        _check(getattr(_driver, call)(*arguments, stream), call)
        _check(_driver.cuStreamSynchronize(stream), "cuStreamSynchronize")
    finally:
        _check(_driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())), "cuCtxPopCurrent")


def read(tensor):
    """Returns a copy of a GPU's tensor in the processor's memory, once all work of the current stream is done."""
    extent = _extent(tensor)
    memory = torch.empty(extent, dtype=tensor.dtype)
    if extent:
        _copy("cuMemcpyDtoHAsync_v2", tensor, ctypes.c_void_p(memory.data_ptr()), *_source(tensor, extent))
    return _as_seen(memory.as_strided(tensor.size(), tensor.stride()), tensor)


def write(tensor, value):
    """Gives a GPU's tensor the values of one of the processor's, of the same shape and type."""
    extent = _extent(tensor)
    if not extent:
        return
    value = _as_seen(value, tensor).resolve_conj().resolve_neg()
    gaps = extent != tensor.numel()
    if gaps or value.stride() != tensor.stride():
        laid_out = read(tensor) if gaps else torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
        value = laid_out.copy_(value)
    address, size = _source(tensor, extent)
    _copy("cuMemcpyHtoDAsync_v2", tensor, address, ctypes.c_void_p(value.data_ptr()), size)


def _source(tensor, extent):
    return ctypes.c_uint64(tensor.data_ptr()), ctypes.c_size_t(extent * tensor.element_size())


def _as_seen(value, tensor):
    """Turns the bytes of a tensor's memory into its values, and values into bytes, where it is a conjugate or negative."""
    if tensor.is_conj():
        value = value.conj()
    return torch._neg_view(value) if tensor.is_neg() else value


def like(value, device):
    """Returns a new tensor of a GPU with the values, and if it has no gaps the strides, of one of the processor's."""
    value = value.resolve_conj().resolve_neg()
    if _extent(value) != value.numel():
        value = value.contiguous()
    tensor = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
    write(tensor, value)
    return tensor
