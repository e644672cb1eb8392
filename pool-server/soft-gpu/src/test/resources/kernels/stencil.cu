// SPDX-License-Identifier: Apache-2.0
// Seven-point stencil and a shared-memory row filter with constant weights.

extern "C" __global__ void heat(const double* in, double* out, int nx, int ny, int nz, double k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int i = (z * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
    out[i] = in[i];
    return;
  }
  out[i] = in[i] + k * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] +
                        in[i + nx * ny] - 6 * in[i]);
}

__constant__ float weights[9] = {0.5f, 1.f, 1.5f, 2.f, 4.f, 2.f, 1.5f, 1.f, 0.5f};

extern "C" __global__ void filter(const float* in, float* out, int n) {
  __shared__ float row[256 + 8];
  int i = blockIdx.x * 256 + threadIdx.x;
  row[threadIdx.x + 4] = i < n ? in[i] : 0;
  if (threadIdx.x < 4) row[threadIdx.x] = i >= 4 ? in[i - 4] : 0;
  if (threadIdx.x >= 252) row[threadIdx.x + 8] = i + 4 < n ? in[i + 4] : 0;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 9; j++) sum += weights[j] * row[threadIdx.x + j];
  if (i < n) out[i] = sum;
}
