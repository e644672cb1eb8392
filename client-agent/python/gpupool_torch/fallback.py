# SPDX-License-Identifier: Apache-2.0
"""The operations of PyTorch that are computed by the processor, and how their arguments and results get there and back."""
import warnings

import torch

from gpupool_torch import memory

# Only look at tensors, allocate them, or copy bytes, for which PyTorch launches no kernel.
_WITHOUT_KERNELS = {
    "_local_scalar_dense", "_pin_memory", "_reshape_alias", "_resize_output_", "as_strided", "empty", "empty_strided",
    "is_pinned", "is_set_to", "record_stream", "resize_", "set_", "unfold", "view", "view_as_complex", "view_as_real",
}

# On a GPU they call its libraries, unless they have a kernel of their own.
_COMPOSED = ["convolution", "convolution_backward", "convolution_overrideable"]

# Of a GPU's generator: offsets are multiples of 4.
_OFFSETS_A_CALL = 4
_SPREAD = 0x9E3779B97F4A7C15

_library = None


def register():
    """Registers a fallback for each operation that has a CUDA kernel. Initializes no GPU."""
    global _library
    _library = torch.library.Library("aten", "IMPL", "CUDA")
    # Their kernels have no counterpart for the processor; what PyTorch does without them has.
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
            overload = _overload(name)
            if overload is not None and _launches_kernels(overload):
                _library.impl(overload, _computed(overload))
        for name in _COMPOSED:
            packet = getattr(torch.ops.aten, name)
            for overload in packet.overloads():
                _library.impl(getattr(packet, overload), _computed(getattr(packet, overload)))
        _library.impl("copy_", _copy)


def _overload(name):
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(torch.ops.aten, base, None) if namespace == "aten" else None
    return getattr(packet, overload or "default", None)


def _launches_kernels(overload):
    schema = overload._schema
    is_view = any(each.alias_info and not each.alias_info.is_write for each in schema.returns)
    return schema.name.removeprefix("aten::") not in _WITHOUT_KERNELS and not is_view


def _computed(overload):
    """Returns a function that computes an operation by the processor's kernel for it."""
    schema = overload._schema

    def compute(*arguments, **options):
        call = _Call(schema, arguments, options)
        try:
            results = call.run(overload)
        except NotImplementedError as error:
            raise NotImplementedError(
                f"{schema.name} has neither PTX for a software GPU nor a kernel for the processor, which"
                " GPUPOOL_TORCH_FALLBACK=cpu would use"
            ) from error
        return call.finish(results)

    return compute


def _generator(of):
    """Returns a generator of the processor for one call, seeded by the state of a GPU's, which goes on."""
    if of is None:
        of = torch.cuda.default_generators[torch.cuda.current_device()]
    offset = of.get_offset()
    of.set_offset(offset + _OFFSETS_A_CALL)
    return torch.Generator().manual_seed((of.initial_seed() * _SPREAD + offset) % 2**63)


class _Call:
    """One call of an operation: its arguments here, and what becomes of its results."""

    def __init__(self, schema, arguments, options):
        self.schema = schema
        self.device = None
        self.copies = {}  # by id: a GPU's tensor and its copy here
        self.given = dict(zip((each.name for each in schema.arguments), arguments)) | options
        self.arguments = {name: self._here(value) for name, value in self.given.items()}
        if "pin_memory" in self.arguments:
            self.arguments["pin_memory"] = None
        if any(each.name == "generator" for each in schema.arguments):
            self.arguments["generator"] = _generator(self.given.get("generator"))
        if self.device is None:
            self.device = torch.device("cuda", torch.cuda.current_device())

    def _here(self, value):
        if isinstance(value, torch.Tensor) and value.is_cuda:
            self.device = self.device or value.device
            if id(value) not in self.copies:
                self.copies[id(value)] = (value, memory.read(value))
            return self.copies[id(value)][1]
        if isinstance(value, (list, tuple)):
            return [self._here(each) for each in value]
        if isinstance(value, torch.device) and value.type == "cuda":
            self.device = value if value.index is not None else None
            return torch.device("cpu")
        return value

    def run(self, overload):
        arguments = []
        for each in self.schema.arguments:
            if each.kwarg_only or each.name not in self.arguments:
                break
            arguments.append(self.arguments.pop(each.name))
        return overload(*arguments, **self.arguments)

    def finish(self, results):
        """Writes back what was changed in place, and returns the results on the GPU."""
        written = {}  # the argument that a result is, by its alias
        for argument in self.schema.arguments:
            if argument.alias_info and argument.alias_info.is_write and argument.name in self.given:
                self._write(self.given[argument.name])
                for alias in argument.alias_info.before_set:
                    written[alias] = self.given[argument.name]
        if len(self.schema.returns) == 1:
            return self._there(results, self.schema.returns[0], written)
        if results is None:
            return None
        return tuple(self._there(each, form, written) for each, form in zip(results, self.schema.returns))

    def _write(self, value):
        if isinstance(value, (list, tuple)):
            for each in value:
                self._write(each)
        elif value is not None and id(value) in self.copies:
            tensor, copy = self.copies[id(value)]
            if tensor.size() != copy.size():
                tensor.resize_(copy.size())
            memory.write(tensor, copy)

    def _there(self, result, form, written):
        if form.alias_info and form.alias_info.is_write:
            return next(written[alias] for alias in form.alias_info.before_set if alias in written)
        if isinstance(result, torch.Tensor):
            return memory.like(result, self.device)
        if isinstance(result, (list, tuple)):
            return [self._there(each, form, written) for each in result]
        return result


def _copy(target, source, non_blocking=False):
    """Copies between tensors of any shape, type and device."""
    value = memory.read(source) if source.is_cuda else source
    if not target.is_cuda:
        return target.copy_(value)
    if value.size() != target.size() or value.dtype != target.dtype:
        value = value.to(target.dtype).expand(target.size())
    memory.write(target, value)
    return target
