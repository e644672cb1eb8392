// SPDX-License-Identifier: Apache-2.0
// Matrix products C = A * B of n x n row-major matrices.

extern "C" __global__ void naive(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

#define TILE 16

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int t = 0; t < (n + TILE - 1) / TILE; t++) {
    int k = t * TILE;
    as[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0;
    bs[ty][tx] = col < n && k + ty < n ? b[(k + ty) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

extern "C" __global__ void dynamicTiled(const double* a, const double* b, double* c, int n) {
  extern __shared__ double tile[];
  int edge = blockDim.x;
  double* as = tile;
  double* bs = tile + edge * edge;
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * edge + ty, col = blockIdx.x * edge + tx;
  double sum = 0;
  for (int k = 0; k < n; k += edge) {
    as[ty * edge + tx] = a[row * n + k + tx];
    bs[ty * edge + tx] = b[(k + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < edge; i++) sum += as[ty * edge + i] * bs[i * edge + tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
