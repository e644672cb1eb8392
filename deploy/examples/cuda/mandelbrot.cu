// SPDX-License-Identifier: Apache-2.0
// The Mandelbrot set: loops of very different lengths in the threads of one warp.
#include "check.h"

__host__ __device__ inline int escape(double cx, double cy, int limit) {
  double x = 0, y = 0;
  int i = 0;
  // Written with fma so that device and host round alike.
  while (i < limit && fma(x, x, y * y) <= 4.0) {
    double next = fma(x, x, fma(-y, y, cx));
    y = fma(2.0 * x, y, cy);
    x = next;
    i++;
  }
  return i;
}

__global__ void mandelbrot(int *image, int width, int height, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) {
    return;
  }
  image[py * width + px] = escape(px * (3.0 / 256) - 2.25, py * (2.5 / 256) - 1.25, limit);
}

int main() {
  const int width = 256, height = 250, limit = 200;
  int *image;
  CHECK(cudaMalloc(&image, width * height * sizeof(int)));
  mandelbrot<<<dim3((width + 31) / 32, (height + 3) / 4), dim3(32, 4)>>>(
      image, width, height, limit);
  launched();
  std::vector<int> expected(width * height);
  long long inside = 0;
  for (int py = 0; py < height; py++) {
    for (int px = 0; px < width; px++) {
      int count = escape(px * (3.0 / 256) - 2.25, py * (2.5 / 256) - 1.25, limit);
      expected[py * width + px] = count;
      inside += count == limit;
    }
  }
  require_equal(host_copy(image, expected.size()), expected);
  CHECK(cudaFree(image));
  return ok("%d x %d, %lld points inside", width, height, inside);
}
