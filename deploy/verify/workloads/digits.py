# SPDX-License-Identifier: Apache-2.0
"""Images of digits in the form of MNIST, drawn by a seed: 28 x 28, one channel, values 0 to 1."""
import torch
import torch.nn.functional as F

# Rows of five dots, the highest bit on the left.
GLYPHS = [
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
]


def _templates():
    dots = torch.tensor([[[row >> (4 - x) & 1 for x in range(5)] for row in glyph] for glyph in GLYPHS])
    return F.pad(F.interpolate(dots[:, None].float(), scale_factor=3, mode="bilinear"), (6, 7, 3, 4))


def draw(count, seed):
    """Images (count x 1 x 28 x 28, float32) and labels (count, int64), on the host."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=generator)
    angle = (torch.rand(count, generator=generator) - 0.5) * 0.7
    scale = 0.8 + 0.5 * torch.rand(count, generator=generator)
    shear = (torch.rand(count, generator=generator) - 0.5) * 0.5
    shift = (torch.rand(count, 2, generator=generator) - 0.5) * 0.4
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    rows = torch.stack((torch.stack((cos, shear - sin, shift[:, 0]), 1), torch.stack((sin, cos, shift[:, 1]), 1)), 1)
    templates = _templates()
    images = torch.empty(count, 1, 28, 28)
    for begin in range(0, count, 5000):
        part = slice(begin, min(begin + 5000, count))
        grid = F.affine_grid(rows[part], (part.stop - begin, 1, 28, 28), align_corners=False)
        images[part] = F.grid_sample(templates[labels[part]], grid, align_corners=False)
    noise = torch.rand(images.shape, generator=generator)
    return (images * 0.9 + noise * 0.25).clamp_(0, 1), labels
