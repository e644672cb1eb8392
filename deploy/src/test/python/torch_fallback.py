# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch on a software GPU with GPUPOOL_TORCH_FALLBACK=cpu, compared with the processor's results.

Arguments: the names of the cases to run; all of them if there are none.
"""
import copy
import sys

import torch
from torch import nn
from torch.nn import functional

STEPS = 50
TOLERANCE = 1e-4


def same(name, got, wanted, tolerance=1e-6):
    if isinstance(wanted, (list, tuple)):
        for each in zip(got, wanted):
            same(name, *each, tolerance)
        return
    if got.size() != wanted.size() or got.dtype != wanted.dtype:
        sys.exit(f"torch {name}: FAILED, {got.size()} {got.dtype}, not {wanted.size()} {wanted.dtype}")
    if not torch.allclose(got.cpu(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True):
        sys.exit(f"torch {name}: FAILED, {got} is not {wanted}")


def both(name, compute, *tensors, tolerance=1e-6):
    """Compares what a function makes of tensors there and here, and what it leaves of them."""
    there = [each.cuda() for each in tensors]
    here = [each.clone() for each in tensors]
    same(name, compute(*there), compute(*here), tolerance)
    same(name + ", in place", there, here, tolerance)


def elementwise():
    x, y = torch.randn(4, 5), torch.randn(5)
    both("add", torch.add, x, y)
    both("broadcast", lambda a, b: a[:, :1] * b - 2 / a, x, y)
    both("where", lambda a, b: torch.where(a > b, a, b).exp(), x, y)
    both("halves", lambda a, b: a @ b + 1, x.half(), torch.randn(5, 3).half(), tolerance=1e-2)
    both("bfloat16", lambda a, b: a @ b + 1, x.bfloat16(), torch.randn(5, 3).bfloat16(), tolerance=1e-1)
    both("complex", lambda a: (a.conj() * a).real, torch.randn(3, 4, dtype=torch.complex64))
    both("out", lambda a: torch.mul(a, 3, out=torch.empty(0, device=a.device)), x)
    both("empty", lambda a: a[:0] + 1, x)


def views():
    x = torch.randn(6, 7)
    both("transposed", lambda a: a.t() + 1, x)
    both("in a row", lambda a: a[2].add_(5), x)
    both("in a column", lambda a: a[:, 3].fill_(7), x)
    both("gaps kept", lambda a: a[:, ::2].copy_(torch.ones(6, 14, device=a.device)[:, 1:8:2]), x)
    both("every other", lambda a: a[::2, 1::3].copy_(torch.ones(3, 2)), x)
    both("to a view", lambda a: a[1:3].copy_(a[3:5].t().contiguous().t()), x)
    both("types", lambda a: a.double().t().int().flip(0).to(torch.float16), x)
    both("concatenated", lambda a: torch.cat([a, a.roll(1, 0)[:, 2:]], 1), x)
    if x.t().cuda().cpu().stride() != x.t().stride():
        sys.exit("torch views: FAILED, strides are lost")


def indices():
    x, at = torch.randn(8, 9), torch.tensor([1, 5, 5, 0])
    both("index", lambda a, i: a[i, i + 1], x, at)
    both("index_put", lambda a, i: a.index_put_((i,), a[:4] * 2, accumulate=True), x, at)
    both("masked", lambda a: a[a > 0], x)
    both("mask assigned", lambda a: a.masked_fill_(a > 0, -1), x)
    both("gather", lambda a, i: a.gather(0, i.view(4, 1).expand(4, 9)), x, at)
    both("scatter", lambda a, i: torch.zeros_like(a).scatter_add_(0, i.view(4, 1).expand(4, 9), a), x, at)
    both("sorted", lambda a: list(a.sort(1)), x)
    both("top", lambda a: list(a.topk(3)), x)
    both("unique", lambda i: list(i.unique(return_counts=True)), at)


def reductions():
    x = torch.randn(5, 6, 7)
    for name in "sum", "mean", "amax", "logsumexp", "var", "prod":
        arguments = {"dim": 1} if name != "prod" else {"dim": 2}
        both(name, lambda a, name=name, arguments=arguments: getattr(a, name)(**arguments), x, tolerance=1e-5)
    both("norm", lambda a: a.norm(), x, tolerance=1e-5)
    both("cumsum", lambda a: a.cumsum(2), x, tolerance=1e-5)
    both("argmax", lambda a: a.argmax(), x)
    both("solve", torch.linalg.solve, torch.randn(4, 4), torch.randn(4), tolerance=1e-4)


def layers():
    x = torch.randn(2, 4, 10, 10)
    conv = nn.Conv2d(4, 8, 3, padding=1, groups=2, dilation=2)
    there = copy.deepcopy(conv).cuda()
    same("convolution", there(x.cuda()), conv(x), 1e-5)
    there(x.cuda()).square().sum().backward()
    conv(x).square().sum().backward()
    same("convolution, backward", there.weight.grad, conv.weight.grad, 1e-3)
    both("pool", lambda a: functional.max_pool2d(a, 2), x)
    both("interpolate", lambda a: functional.interpolate(a, scale_factor=2, mode="bilinear"), x, tolerance=1e-5)
    q = torch.randn(2, 3, 16, 8)
    both("attention", lambda a: functional.scaled_dot_product_attention(a, a, a, is_causal=True), q, tolerance=1e-5)
    both("embedding", lambda w: functional.embedding(torch.tensor([3, 1], device=w.device), w), torch.randn(5, 4))


def random():
    torch.manual_seed(3)
    first = [torch.randn(1000, device="cuda"), torch.rand(10, device="cuda"), torch.randperm(10, device="cuda")]
    torch.manual_seed(3)
    same("random, again", [torch.randn(1000, device="cuda"), torch.rand(10, device="cuda"),
                           torch.randperm(10, device="cuda")], [each.cpu() for each in first])
    kept = (functional.dropout(torch.ones(10_000, device="cuda"), 0.3) > 0).float().mean().item()
    if not (0.67 < kept < 0.73 and abs(first[0].mean().item()) < 0.15):
        sys.exit(f"torch random: FAILED, {kept} {first[0].mean()}")


def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(8 * 7 * 7, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 10))


def losses(net, optimizer, device, wrap):
    net = net.to(device)
    step = optimizer(net.parameters())
    x = torch.randn(64, 1, 14, 14, generator=torch.Generator().manual_seed(2)).to(device)
    y = torch.randint(0, 10, (64,), generator=torch.Generator().manual_seed(2)).to(device)
    loss_of = wrap(lambda x, y: functional.cross_entropy(net(x), y))
    curve = []
    for _ in range(STEPS):
        step.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        step.step()
        curve.append(loss.item())
    return torch.tensor(curve)


def training(wrap, name):
    for optimizer in (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=0.01)):
        here = losses(network(), optimizer, "cpu", lambda each: each)
        there = losses(network(), optimizer, "cuda", wrap)
        if not here[-1] < here[0] / 2:
            sys.exit(f"torch {name}: FAILED, nothing is learned: {here}")
        if not (here - there).abs().max() < TOLERANCE:
            sys.exit(f"torch {name}: FAILED, {there} is not {here}")


def eager():
    training(lambda each: each, "eager")


def compiled():
    training(torch.compile, "compiled")


def missing():
    try:
        torch.nn.LSTMCell(3, 4).cuda()(torch.randn(2, 3).cuda())
    except NotImplementedError as error:
        if "GPUPOOL_TORCH_FALLBACK" in str(error):
            return
        raise
    sys.exit("torch missing: FAILED, nothing is said")


CASES = [elementwise, views, indices, reductions, layers, random, eager, compiled, missing]

for case in CASES:
    if not sys.argv[1:] or case.__name__ in sys.argv[1:]:
        torch.manual_seed(4)
        case()
        print(f"torch {case.__name__}: OK", flush=True)
