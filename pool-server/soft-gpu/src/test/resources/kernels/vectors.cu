// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels over linear memory.

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x) {
    y[i] = alpha * x[i] + y[i];
  }
}

extern "C" __global__ void daxpy(double alpha, const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = alpha * x[i] + y[i];
}

extern "C" __global__ void scale4(const float4* in, float4* out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = in[i];
  v.x *= factor;
  v.y += factor;
  v.z -= factor;
  v.w /= factor;
  out[i] = v;
}

extern "C" __global__ void index3d(int* out, dim3 size) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z) {
    out[(z * size.y + y) * size.x + x] = x + 100 * y + 10000 * z + 1000000 * (threadIdx.y % 7);
  }
}
