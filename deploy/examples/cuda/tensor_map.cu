// SPDX-License-Identifier: Apache-2.0
// Tensor maps: boxes of tensors copied at one go, swizzled, beyond the tensor's edges, to another address, added up.
// nvcc: -std=c++17 -gencode arch=compute_90,code=compute_90
#include <cuda/barrier>

#include "driver_entry.h"

constexpr int kTile = 32;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define WITH_TENSOR_MAPS 1
#endif

using block_barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

// Tiles come swizzled, so that columns are read without bank conflicts, and go transposed.
__global__ void transpose(
    const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
#ifdef WITH_TENSOR_MAPS
  __shared__ alignas(1024) char tile[kTile][kTile * sizeof(float)];
  __shared__ alignas(128) float turned[kTile][kTile];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ block_barrier barrier;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;
  if (first) {
    init(&barrier, blockDim.x * blockDim.y);
    cde::fence_proxy_async_shared_cta();
    asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
  }
  __syncthreads();
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
  block_barrier::arrival_token token;
  if (first) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(tile, &from, x, y, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (int row = threadIdx.y; row < kTile; row += blockDim.y) {
    int chunk = threadIdx.x / 4 ^ row % 8;
    float value = *reinterpret_cast<float *>(&tile[row][chunk * 16 + threadIdx.x % 4 * 4]);
    turned[threadIdx.x][row] = value;
  }
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (first) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, y, x, turned);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
#endif
}

// The copy of a box that begins outside of the tensor, element by element.
template <int kRank>
__device__ void fetch(void *to, const CUtensorMap *map, int x, int y, int z, unsigned bytes) {
#ifdef WITH_TENSOR_MAPS
  __shared__ alignas(8) unsigned long long barrier;
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                 : "memory");
    if (kRank == 1) {
      asm volatile(
          "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
          " [%0], [%1, {%2}], [%3];" ::"r"(target), "l"(map), "r"(x), "r"(at)
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
          " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(target), "l"(map), "r"(x), "r"(y), "r"(z), "r"(at)
          : "memory");
    }
  }
  __syncthreads();
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;"
      " @!done bra again; }" ::"r"(at)
      : "memory");
  __syncthreads();
#endif
}

constexpr int kBoxX = 12, kBoxY = 5, kBoxZ = 4;

__constant__ CUtensorMap volume_map;

// Each box and all elements around it, of which those outside are 0; the map lies in constant memory.
__global__ void read_boxes(int *out) {
  __shared__ alignas(128) int box[kBoxZ * kBoxY * kBoxX];
  fetch<3>(box, &volume_map, static_cast<int>(blockIdx.x * kBoxX) - 4,
      static_cast<int>(blockIdx.y * kBoxY) - 2, static_cast<int>(blockIdx.z * kBoxZ) - 1, sizeof box);
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  for (int i = threadIdx.x; i < kBoxZ * kBoxY * kBoxX; i += blockDim.x) {
    out[block * kBoxZ * kBoxY * kBoxX + i] = box[i];
  }
}

// The map lies in global memory, where it may have been another one before.
__global__ void read_line(const CUtensorMap *map, unsigned short *out, int x) {
  __shared__ alignas(128) unsigned short line[64];
#ifdef WITH_TENSOR_MAPS
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
#endif
  fetch<1>(line, map, x, 0, 0, sizeof line);
  out[threadIdx.x] = line[threadIdx.x];
}

// All blocks add their rows to the same ones.
__global__ void add_rows(const __grid_constant__ CUtensorMap map) {
#ifdef WITH_TENSOR_MAPS
  __shared__ alignas(128) int rows[4][8];
  rows[threadIdx.x / 8][threadIdx.x % 8] = blockIdx.x + threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
        ::"l"(&map), "r"(0), "r"(1), "r"(static_cast<unsigned>(__cvta_generic_to_shared(rows)))
        : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
#endif
}

struct Tensor {
  std::vector<cuuint64_t> dims;
  std::vector<cuuint32_t> box;
  CUtensorMapDataType type;
  int bytes;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  std::vector<cuuint32_t> steps = {1, 1, 1, 1, 1};

  CUresult encode(CUtensorMap *map, void *address) const {
    std::vector<cuuint64_t> strides;
    cuuint64_t stride = bytes;
    for (cuuint64_t dim : dims) strides.push_back(stride *= dim);
    return ENTRY(cuTensorMapEncodeTiled)(map, type, dims.size(), address, dims.data(), strides.data(),
        box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
  }
};

static void transposes() {
  const int width = 100, height = 76;
  Numbers numbers(7);
  std::vector<float> values(width * height);
  for (float &value : values) value = numbers.next() % 1000;
  float *from = device_copy(values), *to = device_copy(std::vector<float>(values.size()));
  Tensor source{{width, height}, {kTile, kTile}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4,
      CU_TENSOR_MAP_SWIZZLE_128B};
  Tensor target{{height, width}, {kTile, kTile}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4};
  CUtensorMap source_map, target_map;
  DRIVER(source.encode(&source_map, from));
  DRIVER(target.encode(&target_map, to));
  dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose<<<grid, dim3(kTile, 8)>>>(source_map, target_map);
  launched();
  std::vector<float> result = host_copy(to, values.size());
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      REQUIRE(result[x * height + y] == values[y * width + x], "element %d, %d", x, y);
    }
  }
  // The same maps for other memory: what was transposed is transposed back.
  float *back = device_copy(std::vector<float>(values.size()));
  Tensor again{{height, width}, {kTile, kTile}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4,
      CU_TENSOR_MAP_SWIZZLE_128B};
  DRIVER(again.encode(&source_map, from));
  DRIVER(ENTRY(cuTensorMapReplaceAddress)(&source_map, to));
  target.dims = {width, height};
  DRIVER(target.encode(&target_map, from));
  DRIVER(ENTRY(cuTensorMapReplaceAddress)(&target_map, back));
  transpose<<<dim3(grid.y, grid.x), dim3(kTile, 8)>>>(source_map, target_map);
  launched();
  REQUIRE(host_copy(back, values.size()) == values, "transposed twice it is another matrix");
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaFree(back));
}

static void boxes() {
  const int sx = 20, sy = 9, sz = 7, count = kBoxX * kBoxY * kBoxZ;
  std::vector<int> values(sx * sy * sz);
  for (size_t i = 0; i < values.size(); i++) values[i] = 1 + i;
  int *volume = device_copy(values);
  Tensor tensor{{sx, sy, sz}, {kBoxX, kBoxY, kBoxZ}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4};
  CUtensorMap map;
  DRIVER(tensor.encode(&map, volume));
  CHECK(cudaMemcpyToSymbol(volume_map, &map, sizeof map));
  dim3 grid(3, 3, 3);
  int *out = device_copy(std::vector<int>(27 * count));
  read_boxes<<<grid, 64>>>(out);
  launched();
  std::vector<int> read = host_copy(out, 27 * count);
  for (int i = 0; i < 27 * count; i++) {
    int block = i / count, at = i % count;
    int x = block % 3 * kBoxX - 4 + at % kBoxX, y = block / 3 % 3 * kBoxY - 2 + at / kBoxX % kBoxY;
    int z = block / 9 * kBoxZ - 1 + at / kBoxX / kBoxY;
    bool inside = x >= 0 && x < sx && y >= 0 && y < sy && z >= 0 && z < sz;
    int expected = inside ? values[(z * sy + y) * sx + x] : 0;
    REQUIRE(read[i] == expected, "at %d, %d, %d is %d, not %d", x, y, z, read[i], expected);
  }
  CHECK(cudaFree(volume));
  CHECK(cudaFree(out));
}

static void lines() {
  std::vector<unsigned short> values(200);
  for (size_t i = 0; i < values.size(); i++) values[i] = 0x3C00 + i;
  unsigned short *line = device_copy(values), *out = device_copy(std::vector<unsigned short>(64));
  for (bool nan : {false, true}) {
    Tensor tensor{{values.size()}, {64}, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, CU_TENSOR_MAP_SWIZZLE_NONE,
        nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE};
    std::vector<CUtensorMap> map(1);
    DRIVER(tensor.encode(map.data(), line));
    CUtensorMap *device_map = device_copy(map);
    for (int x : {-10, 0, 77, 150, 1000}) {
      read_line<<<1, 64>>>(device_map, out, x);
      launched();
      std::vector<unsigned short> read = host_copy(out, 64);
      for (int i = 0; i < 64; i++) {
        bool inside = x + i >= 0 && x + i < static_cast<int>(values.size());
        bool right = inside ? read[i] == values[x + i]
                     : nan  ? (read[i] & 0x7C00) == 0x7C00 && (read[i] & 0x3FF)
                            : read[i] == 0;
        REQUIRE(right, "element %d from %d is 0x%x", i, x, read[i]);
      }
    }
    CHECK(cudaFree(device_map));
  }
  CHECK(cudaFree(line));
  CHECK(cudaFree(out));
}

static void sums() {
  int *sums = device_copy(std::vector<int>(8 * 4, 100));
  Tensor tensor{{8, 4}, {8, 4}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4};
  CUtensorMap map;
  DRIVER(tensor.encode(&map, sums));
  const int blocks = 50;
  add_rows<<<blocks, 32>>>(map);
  launched();
  std::vector<int> result = host_copy(sums, 32);
  for (int i = 0; i < 32; i++) {
    // The box begins at row 1; its last row is outside.
    int expected = i < 8 ? 100 : 100 + blocks * (blocks - 1) / 2 + blocks * (i - 8);
    REQUIRE(result[i] == expected, "sum %d is %d, not %d", i, result[i], expected);
  }
  CHECK(cudaFree(sums));
}

static void wrong_arguments() {
  float *memory = device_copy(std::vector<float>(1024));
  Tensor good{{32, 32}, {8, 8}, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4};
  CUtensorMap map;
  DRIVER(good.encode(&map, memory));
  REFUSED(CUDA_ERROR_INVALID_VALUE, good.encode(nullptr, memory));
  REFUSED(CUDA_ERROR_INVALID_VALUE, good.encode(&map, reinterpret_cast<char *>(memory) + 4));
  Tensor bad = good;
  bad.box = {7, 8};
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  bad = good;
  bad.box = {8, 257};
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  bad = good;
  bad.dims = {33, 32};
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  bad = good;
  bad.box = {32, 8};
  bad.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  bad = good;
  bad.steps[1] = 9;
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  bad = good;
  bad.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  bad.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  REFUSED(CUDA_ERROR_INVALID_VALUE, bad.encode(&map, memory));
  CHECK(cudaFree(memory));
}

int main() {
  int major = 0, supported = 0;
  CHECK(cudaFree(nullptr));
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  DRIVER(ENTRY(cuDeviceGetAttribute)(&supported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
  REQUIRE(supported == (major >= 9), "capability %d.x and tensor map access %d", major, supported);
  if (!supported) {
    return ok("(this GPU has no tensor maps)");
  }
  transposes();
  boxes();
  lines();
  sums();
  wrong_arguments();
  return ok("matrices, boxes beyond edges, lines, sums");
}
