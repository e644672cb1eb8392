# SPDX-License-Identifier: Apache-2.0
"""Tensors on a share of a GPU, moved but not computed with. Argument: the share's memory in bytes."""
import sys

import torch

share_bytes = int(sys.argv[1])
assert torch.cuda.is_available()
assert torch.cuda.device_count() == 1, torch.cuda.device_count()
properties = torch.cuda.get_device_properties(0)
assert properties.total_memory == share_bytes, properties
free_bytes, total_bytes = torch.cuda.mem_get_info()
assert total_bytes == share_bytes and free_bytes <= share_bytes, (free_bytes, total_bytes)

for dtype in (torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64):
    if dtype.is_floating_point:
        host = torch.randn(300001).to(dtype)
    else:
        host = torch.randint(0, 255, (300001,), dtype=dtype)
    back = host.to("cuda").cpu()
    assert back.dtype == dtype and torch.equal(host.view(torch.uint8), back.view(torch.uint8)), dtype

pinned = torch.randint(0, 255, (20_000_000,), dtype=torch.uint8).pin_memory()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    device = pinned.to("cuda", non_blocking=True)
    result = torch.empty_like(pinned, pin_memory=True)
    result.copy_(device, non_blocking=True)
    event = torch.cuda.Event()
    event.record(stream)
event.synchronize()
assert torch.equal(pinned, result)
other = torch.empty_like(device)
other.copy_(device)
assert torch.equal(other.cpu(), pinned)

try:
    torch.empty(share_bytes + (1 << 20), dtype=torch.uint8, device="cuda")
    raise AssertionError("more than the share was given out")
except torch.cuda.OutOfMemoryError as error:
    print("refused:", str(error).splitlines()[0])
held = [torch.empty(share_bytes // 8, dtype=torch.uint8, device="cuda") for _ in range(6)]
try:
    torch.empty(share_bytes // 2, dtype=torch.uint8, device="cuda")
    raise AssertionError("more than the share was given out")
except torch.OutOfMemoryError:
    pass
del held, device, other
torch.cuda.empty_cache()
half = torch.empty(share_bytes // 2, dtype=torch.uint8, device="cuda")
half_host = torch.arange(half.numel() % 251 + 1000, dtype=torch.uint8)
half[: half_host.numel()].copy_(half_host)
assert torch.equal(half[: half_host.numel()].cpu(), half_host)
del half
torch.cuda.empty_cache()
assert torch.cuda.memory_allocated() == 0, torch.cuda.memory_allocated()
print("tensors: OK on", properties.name)
