// SPDX-License-Identifier: Apache-2.0
// Convolution in two dimensions with a mask in constant memory: direct, through a tile, and in two steps.
#include "check.h"

const int radius = 3, width = 2 * radius + 1, side = 16;

__constant__ float mask[width * width];
__constant__ float row_weights[width], column_weights[width];

__global__ void direct(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = -radius; dy <= radius; dy++) {
    for (int dx = -radius; dx <= radius; dx++) {
      if (x + dx >= 0 && x + dx < w && y + dy >= 0 && y + dy < h) {
        sum += mask[(dy + radius) * width + dx + radius] * in[(y + dy) * w + x + dx];
      }
    }
  }
  out[y * w + x] = sum;
}

__global__ void tiled(const float *in, float *out, int w, int h) {
  const int halo = side + 2 * radius;
  __shared__ float tile[halo][halo + 1];
  for (int i = threadIdx.y * side + threadIdx.x; i < halo * halo; i += side * side) {
    int x = int(blockIdx.x) * side + i % halo - radius, y = int(blockIdx.y) * side + i / halo - radius;
    tile[i / halo][i % halo] = x >= 0 && x < w && y >= 0 && y < h ? in[y * w + x] : 0;
  }
  __syncthreads();
  int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
#pragma unroll
  for (int dy = 0; dy < width; dy++) {
#pragma unroll
    for (int dx = 0; dx < width; dx++) {
      sum += mask[dy * width + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    }
  }
  out[y * w + x] = sum;
}

template <bool Rows>
__global__ void one_direction(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
  if (x >= w || y >= h) return;
  int at = Rows ? x : y, limit = Rows ? w : h, step = Rows ? 1 : w;
  const float *weights = Rows ? row_weights : column_weights;
  float sum = 0;
  for (int d = -radius; d <= radius; d++) {
    if (at + d >= 0 && at + d < limit) sum += weights[d + radius] * in[y * w + x + d * step];
  }
  out[y * w + x] = sum;
}

int main() {
  const int w = 213, h = 170;
  Numbers numbers(37);
  std::vector<float> image(w * h), rows(width), columns(width), product(width * width);
  for (float &value : image) value = numbers.unit();
  for (float &value : rows) value = numbers.unit() - 0.3f;
  for (float &value : columns) value = numbers.unit() - 0.3f;
  for (int i = 0; i < width * width; i++) product[i] = columns[i / width] * rows[i % width];
  CHECK(cudaMemcpyToSymbol(mask, product.data(), sizeof mask));
  CHECK(cudaMemcpyToSymbol(row_weights, rows.data(), sizeof row_weights));
  CHECK(cudaMemcpyToSymbol(column_weights, columns.data(), sizeof column_weights));

  std::vector<float> expected(w * h);
  for (int i = 0; i < w * h; i++) {
    double sum = 0;
    for (int j = 0; j < width * width; j++) {
      int x = i % w + j % width - radius, y = i / w + j / width - radius;
      if (x >= 0 && x < w && y >= 0 && y < h) sum += double(product[j]) * image[y * w + x];
    }
    expected[i] = float(sum);
  }
  float *in = device_copy(image), *out, *between;
  CHECK(cudaMalloc(&out, w * h * sizeof(float)));
  CHECK(cudaMalloc(&between, w * h * sizeof(float)));
  dim3 grid((w + side - 1) / side, (h + side - 1) / side), block(side, side);
  direct<<<grid, block>>>(in, out, w, h);
  launched();
  require_close(host_copy(out, w * h), expected, 1e-5);
  CHECK(cudaMemset(out, 0, w * h * sizeof(float)));
  tiled<<<grid, block>>>(in, out, w, h);
  launched();
  require_close(host_copy(out, w * h), expected, 1e-5);
  CHECK(cudaMemset(out, 0, w * h * sizeof(float)));
  one_direction<true><<<grid, block>>>(in, between, w, h);
  one_direction<false><<<grid, block>>>(between, out, w, h);
  launched();
  require_close(host_copy(out, w * h), expected, 1e-5);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(between));
  return ok("%d x %d, mask of %d", w, h, width);
}
