// SPDX-License-Identifier: Apache-2.0
// Transpose through a padded tile in shared memory, for 1, 4 and 8 byte elements.
#include "check.h"

template <typename T>
__global__ void transpose(const T *input, T *output, int width, int height) {
  __shared__ T tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int row = 0; row < 32; row += 8) {
    if (x < width && y + row < height) {
      tile[threadIdx.y + row][threadIdx.x] = input[(y + row) * width + x];
    }
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int row = 0; row < 32; row += 8) {
    if (x < height && y + row < width) {
      output[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
    }
  }
}

template <typename T>
static void run(int width, int height) {
  Numbers numbers(6);
  std::vector<T> input(width * height), expected(width * height);
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      expected[x * height + y] = input[y * width + x] = static_cast<T>(numbers.next());
    }
  }
  T *device_input = device_copy(input);
  T *device_output;
  CHECK(cudaMalloc(&device_output, input.size() * sizeof(T)));
  dim3 grid((width + 31) / 32, (height + 31) / 32);
  transpose<T><<<grid, dim3(32, 8)>>>(device_input, device_output, width, height);
  launched();
  require_equal(host_copy(device_output, input.size()), expected);
  CHECK(cudaFree(device_input));
  CHECK(cudaFree(device_output));
}

int main() {
  run<float>(301, 515);
  run<double>(128, 96);
  run<unsigned char>(77, 130);
  return ok("float, double and byte matrices");
}
