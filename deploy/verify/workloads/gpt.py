# SPDX-License-Identifier: Apache-2.0
"""A transformer of the size of GPT-2 small, with a cache of keys and values for decoding."""
import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS = 50257, 1024, 768, 12, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache=None, position=0):
        batch, length, _ = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = parts
        if cache is not None:
            cache[0][:, :, position : position + length] = key
            cache[1][:, :, position : position + length] = value
            key, value = cache[0][:, :, : position + length], cache[1][:, :, : position + length]
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.after(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, caches=None, position=0):
        places = torch.arange(position, position + tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None, position)
        return self.norm(x) @ self.tokens.weight.T

    def caches(self, batch, dtype):
        shape = (batch, HEADS, CONTEXT, WIDTH // HEADS)
        return [[torch.zeros(shape, device="cuda", dtype=dtype) for _ in range(2)] for _ in range(LAYERS)]
