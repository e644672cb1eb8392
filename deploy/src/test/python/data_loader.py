# SPDX-License-Identifier: Apache-2.0
# A data loader with four workers, started as told, whose batches go to the GPU from page-locked memory.
import sys

import torch
from torch.utils.data import DataLoader, Dataset

COUNT, WIDTH = 96, 64


class Rows(Dataset):
    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        return torch.full((WIDTH,), float(index))


def main(start):
    torch.empty(1, device="cuda")
    loader = DataLoader(
        Rows(), batch_size=8, num_workers=4, pin_memory=True, multiprocessing_context=start
    )
    seen = 0
    for batch in loader:
        there = torch.empty(batch.shape, device="cuda")
        there.copy_(batch, non_blocking=True)
        torch.cuda.synchronize()
        assert torch.equal(there.cpu(), batch), "a batch came back changed"
        seen += len(batch)
    assert seen == COUNT, f"{seen} rows of {COUNT}"
    print("data_loader: OK")


if __name__ == "__main__":
    main(sys.argv[1])
