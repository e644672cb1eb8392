// SPDX-License-Identifier: Apache-2.0
// Mipmapped arrays: each level made from the one before through surfaces, and read by level of detail.
#include "check.h"

__global__ void halve(cudaTextureObject_t from, cudaSurfaceObject_t to, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    // Between four elements, so that filtering gives their mean.
    float mean = tex2D<float>(from, 2 * x + 1.0f, 2 * y + 1.0f);
    surf2Dwrite(mean, to, x * 4, y);
  }
}

__global__ void read(cudaTextureObject_t texture, const float *levels, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex2DLod<float>(texture, 0.3f, 0.6f, levels[i]);
  }
}

__global__ void read_by_gradient(cudaTextureObject_t texture, const float *steps, float *out,
    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex2DGrad<float>(texture, 0.3f, 0.6f, make_float2(steps[i], 0),
        make_float2(0, steps[i]));
  }
}

static cudaTextureObject_t level_texture(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  texture.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

int main() {
  const int side = 64, levels = 7;
  std::vector<std::vector<float>> pyramid(levels);
  pyramid[0].resize(side * side);
  Numbers numbers(11);
  for (float &value : pyramid[0]) {
    value = float(numbers.next() & 1023);
  }
  for (int level = 1; level < levels; level++) {
    int n = side >> level;
    pyramid[level].resize(n * n);
    const std::vector<float> &above = pyramid[level - 1];
    for (int y = 0; y < n; y++) {
      for (int x = 0; x < n; x++) {
        const float *a = &above[2 * y * 2 * n + 2 * x], *b = a + 2 * n;
        pyramid[level][y * n + x] = (a[0] + a[1] + b[0] + b[1]) / 4;
      }
    }
  }

  cudaMipmappedArray_t mipmap;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(side, side, 0), levels,
      cudaArraySurfaceLoadStore));
  cudaArray_t level, next;
  CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, 0));
  CHECK(cudaMemcpy2DToArray(level, 0, 0, pyramid[0].data(), side * 4, side * 4, side,
      cudaMemcpyHostToDevice));
  for (int i = 1; i < levels; i++) {
    CHECK(cudaGetMipmappedArrayLevel(&next, mipmap, i));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = next;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    cudaTextureObject_t texture = level_texture(level);
    int n = side >> i;
    halve<<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(texture, surface, n, n);
    launched();
    std::vector<float> result(n * n);
    CHECK(cudaMemcpy2DFromArray(result.data(), n * 4, next, 0, 0, n * 4, n,
        cudaMemcpyDeviceToHost));
    require_close(result, pyramid[i], 1e-5);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    level = next;
  }
  EXPECT(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&next, mipmap, levels));
  cudaGetLastError();

  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  cudaTextureDesc description{};
  description.normalizedCoords = 1;
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
  description.maxMipmapLevelClamp = levels - 1;
  auto element = [&](int at) {
    int n = side >> at;
    return pyramid[at][int(0.6f * n) * n + int(0.3f * n)];
  };

  // The nearest level, the two around, and a bias with limits.
  std::vector<float> wanted = {0, 1, 2.25f, 2.75f, 3.5f, 6, 9, -2};
  int n = int(wanted.size());
  float *at = device_copy(wanted), *out;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  for (int mode = 0; mode < 3; mode++) {
    description.mipmapFilterMode = mode == 1 ? cudaFilterModeLinear : cudaFilterModePoint;
    description.mipmapLevelBias = mode == 2 ? 1.0f : 0;
    description.minMipmapLevelClamp = mode == 2 ? 2.0f : 0;
    description.maxMipmapLevelClamp = mode == 2 ? 4.0f : levels - 1;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    read<<<1, 32>>>(texture, at, out, n);
    launched();
    std::vector<float> result = host_copy(out, n);
    for (int i = 0; i < n; i++) {
      float lod = wanted[i] + description.mipmapLevelBias;
      lod = std::fmin(std::fmax(lod, description.minMipmapLevelClamp),
          description.maxMipmapLevelClamp);
      float expected;
      if (mode == 1) {
        int low = int(lod), high = low + 1 < levels ? low + 1 : low;
        expected = (1 - (lod - low)) * element(low) + (lod - low) * element(high);
      } else {
        if (lod - std::floor(lod) == 0.5f) {
          continue;  // either level is the nearest
        }
        expected = element(int(lod + 0.5f));
      }
      REQUIRE(std::fabs(result[i] - expected) < 4, "mode %d level %g: %g, not %g", mode, wanted[i],
          result[i], expected);
    }
    CHECK(cudaDestroyTextureObject(texture));
  }

  // A step of 2^k elements asks for level k.
  description.mipmapLevelBias = 0;
  description.minMipmapLevelClamp = 0;
  description.maxMipmapLevelClamp = levels - 1;
  description.mipmapFilterMode = cudaFilterModePoint;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  std::vector<float> steps;
  for (int i = 0; i < levels; i++) {
    steps.push_back(float(1 << i) / side);
  }
  float *by = device_copy(steps);
  read_by_gradient<<<1, 32>>>(texture, by, out, levels);
  launched();
  std::vector<float> result = host_copy(out, levels);
  for (int i = 0; i < levels; i++) {
    REQUIRE(result[i] == element(i), "step %d: %g, not %g", 1 << i, result[i], element(i));
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeMipmappedArray(mipmap));
  CHECK(cudaFree(at));
  CHECK(cudaFree(by));
  CHECK(cudaFree(out));
  return ok("%d levels", levels);
}
