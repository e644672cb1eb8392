# SPDX-License-Identifier: Apache-2.0
"""Text from a model of the size of GPT-2 small, token by token: each waits for the one before it."""
import time

import torch_setup
import torch

from gpt import VOCABULARY, Gpt
from result import report

PROMPT, TOKENS = 64, 256

model = Gpt().cuda().half().eval()
prompt = torch.randint(0, VOCABULARY, (1, PROMPT)).cuda()


@torch.inference_mode()
def decode():
    caches = model.caches(1, torch.float16)
    token = model(prompt, caches)[:, -1].argmax(1)
    said = [token.item()]
    torch_setup.wait()
    begin = time.perf_counter()
    for position in range(PROMPT, PROMPT + TOKENS):
        token = model(token[:, None], caches, position)[:, -1].argmax(1)
        said.append(token.item())
    return said, (time.perf_counter() - begin) / TOKENS


decode()
said, seconds = decode()
report({"tokens": " ".join(map(str, said))}, {"token": seconds}, **torch_setup.versions())
