// SPDX-License-Identifier: Apache-2.0
// A persistent kernel with a queue of work that its own blocks refill: integrals, halved until good enough.
#include "check.h"

const int capacity = 1 << 14, threads = 32;

struct Piece {
  double from, to;
};

// Pieces are taken in the order of their places; a piece is there once its flag is set.
struct Queue {
  Piece pieces[capacity];
  int ready[capacity];
  int taken, added, open;
  double total;
};

__host__ __device__ inline double curve(double x) { return sin(1 / (x * x + 0.01)) + x; }

__device__ void add(Queue *queue, Piece piece) {
  int place = atomicAdd(&queue->added, 1);
  queue->pieces[place] = piece;
  __threadfence();
  atomicExch(&queue->ready[place], 1);
}

// Gauss's rule of two points on each 32nd of the piece.
__device__ double rule(Piece piece, int parts) {
  double sum = 0, width = (piece.to - piece.from) / parts;
  for (int i = threadIdx.x; i < parts; i += threads) {
    double middle = piece.from + (i + 0.5) * width, off = width / 2 * 0.57735026918962576;
    sum += (curve(middle - off) + curve(middle + off)) * width / 2;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  return sum;
}

// Ends when nothing is open: each piece leaves two others or nothing.
__global__ void work(Queue *queue, double precision, int *done_by_block) {
  __shared__ int place;
  while (true) {
    if (threadIdx.x == 0) {
      place = -1;
      while (atomicAdd(&queue->open, 0) > 0) {
        int next = atomicAdd(&queue->taken, 0);
        if (next < atomicAdd(&queue->added, 0) && atomicCAS(&queue->taken, next, next + 1) == next) {
          while (atomicAdd(&queue->ready[next], 0) == 0) {
          }
          __threadfence();
          place = next;
          break;
        }
      }
    }
    __syncthreads();
    if (place < 0) return;
    Piece piece = queue->pieces[place];
    double coarse = rule(piece, 32), fine = rule(piece, 64);
    if (threadIdx.x == 0) {
      double middle = (piece.from + piece.to) / 2;
      if (fabs(fine - coarse) > precision * (piece.to - piece.from) && piece.to - piece.from > 1e-4) {
        atomicAdd(&queue->open, 1);
        add(queue, {piece.from, middle});
        add(queue, {middle, piece.to});
      } else {
        atomicAdd(&queue->total, fine);
        atomicSub(&queue->open, 1);
      }
      done_by_block[blockIdx.x]++;
    }
    __syncthreads();
  }
}

int main() {
  const int blocks = 8, start = 4;
  const double low = -2, high = 3;
  Queue *queue;
  CHECK(cudaMallocManaged(&queue, sizeof(Queue)));
  std::memset(queue, 0, sizeof *queue);
  for (int i = 0; i < start; i++) {
    queue->pieces[i] = {low + (high - low) * i / start, low + (high - low) * (i + 1) / start};
    queue->ready[i] = 1;
  }
  queue->added = queue->open = start;
  int *done = device_copy(std::vector<int>(blocks, 0));
  work<<<blocks, threads>>>(queue, 1e-10, done);
  launched();
  CHECK(cudaDeviceSynchronize());

  const int steps = 200000;
  double expected = 0, width = (high - low) / steps;
  for (int i = 0; i < steps; i++) {
    double x = low + i * width;
    expected += (curve(x) + 4 * curve(x + width / 2) + curve(x + width)) * width / 6;
  }
  REQUIRE(std::fabs(queue->total - expected) < 1e-8, "the integral is %.15g, not %.15g",
      queue->total, expected);
  int pieces = 0;
  for (int count : host_copy(done, blocks)) pieces += count;
  REQUIRE(queue->open == 0 && queue->taken == queue->added && pieces == queue->added,
      "%d open, %d of %d taken, %d done", queue->open, queue->taken, queue->added, pieces);
  CHECK(cudaFree(queue));
  CHECK(cudaFree(done));
  return ok("%d pieces by %d blocks", pieces, blocks);
}
