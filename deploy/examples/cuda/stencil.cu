// SPDX-License-Identifier: Apache-2.0
// Heat on a plate: a five-point stencil with a halo in shared memory, swapped between two buffers.
#include "check.h"

constexpr int WIDTH = 16;
constexpr int HEIGHT = 8;

__global__ void step(const float *from, float *to, int columns, int rows, float rate) {
  __shared__ float tile[HEIGHT + 2][WIDTH + 2];
  int x = blockIdx.x * WIDTH + threadIdx.x;
  int y = blockIdx.y * HEIGHT + threadIdx.y;
  int cx = min(x, columns - 1);
  int cy = min(y, rows - 1);
  int tx = threadIdx.x + 1;
  int ty = threadIdx.y + 1;
  tile[ty][tx] = from[cy * columns + cx];
  if (threadIdx.x == 0) {
    tile[ty][0] = from[cy * columns + max(cx - 1, 0)];
  }
  if (threadIdx.x == WIDTH - 1) {
    tile[ty][WIDTH + 1] = from[cy * columns + min(cx + 1, columns - 1)];
  }
  if (threadIdx.y == 0) {
    tile[0][tx] = from[max(cy - 1, 0) * columns + cx];
  }
  if (threadIdx.y == HEIGHT - 1) {
    tile[HEIGHT + 1][tx] = from[min(cy + 1, rows - 1) * columns + cx];
  }
  __syncthreads();
  if (x > 0 && y > 0 && x < columns - 1 && y < rows - 1) {
    float around = (tile[ty][tx - 1] + tile[ty][tx + 1]) + (tile[ty - 1][tx] + tile[ty + 1][tx]);
    to[y * columns + x] = fmaf(rate, fmaf(-4.0f, tile[ty][tx], around), tile[ty][tx]);
  } else if (x < columns && y < rows) {
    to[y * columns + x] = tile[ty][tx];
  }
}

int main() {
  const int columns = 203, rows = 117, steps = 20;
  std::vector<float> plate(columns * rows, 20.0f), next;
  for (int x = 0; x < columns; x++) {
    plate[x] = 100.0f;
  }
  float *from = device_copy(plate);
  float *to = device_copy(plate);
  dim3 grid((columns + WIDTH - 1) / WIDTH, (rows + HEIGHT - 1) / HEIGHT);
  for (int i = 0; i < steps; i++) {
    step<<<grid, dim3(WIDTH, HEIGHT)>>>(from, to, columns, rows, 0.2f);
    std::swap(from, to);
  }
  launched();
  for (int i = 0; i < steps; i++) {
    next = plate;
    for (int y = 1; y < rows - 1; y++) {
      for (int x = 1; x < columns - 1; x++) {
        const float *p = &plate[y * columns + x];
        float around = (p[-1] + p[1]) + (p[-columns] + p[columns]);
        next[y * columns + x] = std::fma(0.2f, std::fma(-4.0f, *p, around), *p);
      }
    }
    plate.swap(next);
  }
  require_equal(host_copy(from, plate.size()), plate);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return ok("%d x %d, %d steps", columns, rows, steps);
}
