// SPDX-License-Identifier: Apache-2.0
// The kernels that soft.c measures; kernels.ptx is what nvcc makes of them:
//   (echo '// SPDX-License-Identifier: Apache-2.0'; echo '// Made by nvcc from kernels.cu, whose first lines say how.'; \
//    nvcc -ptx -O3 -arch=compute_75 -o - kernels.cu | sed -e '/^\/\//d' -e 's/^\.version .*/.version 7.0/') > kernels.ptx

// One tile of each matrix in shared memory, a thread an element of the product; n is a multiple of TILE.
template <int TILE>
__device__ void multiply(const float *a, const float *b, float *c, int n) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += TILE) {
    a_tile[y][x] = a[row * n + tile + x];
    b_tile[y][x] = b[(tile + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++) {
      sum += a_tile[y][k] * b_tile[k][x];
    }
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void multiply_16(const float *a, const float *b, float *c, int n) {
  multiply<16>(a, b, c, n);
}

extern "C" __global__ void multiply_32(const float *a, const float *b, float *c, int n) {
  multiply<32>(a, b, c, n);
}

extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  return value;
}

// Each thread sums up a stride of the input, each block writes one sum; blocks of 256 threads.
extern "C" __global__ void reduce(const float *in, float *sums, int n) {
  __shared__ float warps[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += in[i];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) {
    warps[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    sum = warp_sum(sum);
    if (threadIdx.x == 0) {
      sums[blockIdx.x] = sum;
    }
  }
}

// Sums the 2 * blockDim.x elements of each block in a tree in shared memory.
extern "C" __global__ void reduce_tree(const float *in, float *sums, int n) {
  extern __shared__ float shared[];
  int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  shared[threadIdx.x] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = shared[0];
  }
}

// Inclusive sums of each block's 256 elements.
extern "C" __global__ void scan(const int *in, int *out, int n) {
  __shared__ int warps[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = i < n ? in[i] : 0;
  for (int offset = 1; offset < 32; offset *= 2) {
    int before = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset) {
      value += before;
    }
  }
  if (lane == 31) {
    warps[warp] = value;
  }
  __syncthreads();
  for (int before = 0; before < warp; before++) {
    value += warps[before];
  }
  if (i < n) {
    out[i] = value;
  }
}

extern "C" __global__ void store(int *out, int value) {
  out[threadIdx.x] = value;
}
