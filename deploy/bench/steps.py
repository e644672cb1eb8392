# SPDX-License-Identifier: Apache-2.0
"""Measures steps of PyTorch training, and tokens of a transformer that decodes.

Prints one JSON object: milliseconds of a step or token, the median of those that are measured.
What the kernels compute is not looked at, so that any GPU does, also one that passes kernels over.
"""
import json
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")

import torch
from torch.nn import functional
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, StaticCache

LETTERS, LENGTH, BATCH, LAYERS, WIDTH, HEADS = 512, 64, 16, 6, 128, 4
WARM_UP, STEPS, TOKENS = 5, 20, 48
figures = {}


def model():
    """Returns a transformer with random weights."""
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=LETTERS, n_positions=2 * LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
        bos_token_id=0, eos_token_id=None, pad_token_id=0)
    return GPT2LMHeadModel(config).cuda()


def median_millis(step, count=STEPS):
    """Runs a step after some others; returns the median of its milliseconds."""
    for _ in range(WARM_UP):
        step()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def train(amp):
    """Returns a step that trains, and waits for its loss."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    batches = torch.randint(LETTERS, (STEPS, BATCH, LENGTH)).pin_memory()
    turn = iter(range(1 << 30))

    def step():
        letters = batches[next(turn) % STEPS].cuda(non_blocking=True)
        with torch.autocast("cuda", enabled=amp):
            loss = net(letters, labels=letters).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return step


def train_graph():
    """Returns a training step that is a CUDA graph, and waits for its loss."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, capturable=True)
    batches = torch.randint(LETTERS, (STEPS, BATCH, LENGTH)).pin_memory()
    letters = batches[0].cuda()
    turn = iter(range(1 << 30))

    def work():
        optimizer.zero_grad(set_to_none=True)
        logits = net(letters).logits[:, :-1]
        loss = functional.cross_entropy(logits.reshape(-1, LETTERS), letters[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    graph, loss = captured(work)

    def step():
        letters.copy_(batches[next(turn) % STEPS], non_blocking=True)
        graph.replay()
        loss.item()

    return step


def captured(work):
    """Returns a CUDA graph of some work, and the work's result."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


@torch.no_grad()
def decode(net, batch):
    """Returns the milliseconds of a token that is read when it is there."""
    cache = DynamicCache(config=net.config)
    token = torch.zeros(batch, 1, dtype=torch.long).cuda()

    def step():
        nonlocal token
        token = net(token, past_key_values=cache).logits[:, -1:].argmax(-1)
        token.tolist()

    return median_millis(step, TOKENS)


@torch.no_grad()
def decode_graph(net, batch):
    """Returns the milliseconds of a token that is a CUDA graph, and that is read when it is there."""
    cache = StaticCache(config=net.config, max_cache_len=2 * LENGTH)
    token = torch.zeros(batch, 1, dtype=torch.long).cuda()
    place = torch.full((1,), 8, dtype=torch.long).cuda()

    def work():
        logits = net(token, past_key_values=cache, cache_position=place, position_ids=place[None]).logits
        token.copy_(logits[:, -1:].argmax(-1))
        place.add_(1)

    graph, _ = captured(work)
    place.fill_(8)

    def step():
        graph.replay()
        token.tolist()

    return median_millis(step, TOKENS)


def main():
    wanted = sys.argv[1:]
    steps = {
        "train_eager": lambda: median_millis(train(amp=False)),
        "train_amp": lambda: median_millis(train(amp=True)),
        "train_graph": lambda: median_millis(train_graph()),
    }
    net = model().eval()
    for batch in (1, 8, 32):
        steps[f"decode_{batch}"] = lambda batch=batch: decode(net, batch)
        steps[f"decode_{batch}_graph"] = lambda batch=batch: decode_graph(net, batch)
    for name, measure in steps.items():
        if not wanted or name in wanted:
            figures[name + "_ms"] = measure()
            print(name, figures[name + "_ms"], file=sys.stderr, flush=True)
    print(json.dumps(figures))


main()
