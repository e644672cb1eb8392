// SPDX-License-Identifier: Apache-2.0
// Textures over linear and over pitched memory, and what can be asked of texture objects.
#include "check.h"

__global__ void fetch(cudaTextureObject_t texture, const int *indexes, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex1Dfetch<float4>(texture, indexes[i]);
  }
}

__global__ void fetch_int(cudaTextureObject_t texture, short2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex1Dfetch<short2>(texture, i);
  }
}

// Each element is the mean of itself and its right and lower neighbours.
__global__ void blur(cudaTextureObject_t texture, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) {
    out[y * width + x] = tex2D<float>(texture, x + 1.0f, y + 1.0f);
  }
}

static void linear() {
  const int n = 1000;
  std::vector<float4> values(n);
  std::vector<int> indexes;
  Numbers numbers(6);
  for (int i = 0; i < n; i++) {
    values[i] = make_float4(i, -i, i * 0.5f, numbers.unit());
    indexes.push_back(static_cast<int>(numbers.next() % n));
  }
  indexes[5] = -1;
  indexes[6] = n;
  indexes[7] = 1 << 30;
  float4 *memory = device_copy(values), *out;
  int *at = device_copy(indexes);
  CHECK(cudaMalloc(&out, n * sizeof(float4)));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = n * sizeof(float4);
  cudaTextureDesc texture{};
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  fetch<<<(n + 127) / 128, 128>>>(object, at, out, n);
  launched();
  std::vector<float4> result = host_copy(out, n);
  for (int i = 0; i < n; i++) {
    int index = indexes[i];
    // Elements outside read as zero.
    float4 expected = index >= 0 && index < n ? values[index] : make_float4(0, 0, 0, 0);
    REQUIRE(result[i].x == expected.x && result[i].y == expected.y && result[i].z == expected.z,
        "element %d is (%g, %g, %g)", index, result[i].x, result[i].y, result[i].z);
  }

  cudaResourceDesc found{};
  CHECK(cudaGetTextureObjectResourceDesc(&found, object));
  REQUIRE(found.resType == cudaResourceTypeLinear && found.res.linear.devPtr == memory,
      "another resource");
  cudaTextureDesc description{};
  CHECK(cudaGetTextureObjectTextureDesc(&description, object));
  REQUIRE(description.readMode == cudaReadModeElementType, "another read mode");
  CHECK(cudaDestroyTextureObject(object));
  EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(&found, object));
  cudaGetLastError();

  // Later kernels see what was written to the memory.
  std::vector<short2> pairs(256);
  for (int i = 0; i < 256; i++) {
    pairs[i] = make_short2(-i, i * 100);
  }
  short2 *read;
  CHECK(cudaMalloc(&read, 256 * sizeof(short2)));
  resource.res.linear.desc = cudaCreateChannelDesc<short2>();
  resource.res.linear.sizeInBytes = 256 * sizeof(short2);
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  CHECK(cudaMemcpy(memory, pairs.data(), 256 * sizeof(short2), cudaMemcpyHostToDevice));
  fetch_int<<<2, 128>>>(object, read, 256);
  launched();
  std::vector<short2> again = host_copy(read, 256);
  REQUIRE(std::memcmp(again.data(), pairs.data(), 256 * sizeof(short2)) == 0, "pairs of shorts");
  CHECK(cudaDestroyTextureObject(object));
  CHECK(cudaFree(read));
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
  CHECK(cudaFree(at));
}

static void pitched() {
  const int width = 123, height = 45;
  const size_t row = width * sizeof(float);
  std::vector<float> image(width * height);
  Numbers numbers(8);
  for (float &value : image) {
    value = numbers.unit();
  }
  float *memory, *out;
  size_t pitch;
  CHECK(cudaMallocPitch(&memory, &pitch, row, height));
  CHECK(cudaMemcpy2D(memory, pitch, image.data(), row, row, height, cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&out, row * height));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  texture.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  blur<<<dim3((width + 127) / 128, height), 128>>>(object, out, width, height);
  launched();
  std::vector<float> result = host_copy(out, width * height), expected(width * height);
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      int right = x + 1 < width ? x + 1 : x, below = y + 1 < height ? y + 1 : y;
      expected[y * width + x] = (image[y * width + x] + image[y * width + right] +
          image[below * width + x] + image[below * width + right]) / 4;
    }
  }
  require_close(result, expected, 1e-6);
  CHECK(cudaDestroyTextureObject(object));

  resource.res.pitch2D.pitchInBytes = pitch - 4;
  EXPECT(cudaErrorInvalidValue, cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
}

int main() {
  linear();
  pitched();
  return ok("linear and pitched memory");
}
