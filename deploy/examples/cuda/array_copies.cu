// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: every direction of copy from and to them, windows of them, and what is refused.
#include "check.h"

static std::vector<float> numbers(size_t count, uint64_t seed) {
  Numbers generator(seed);
  std::vector<float> values(count);
  for (float &value : values) {
    value = generator.unit();
  }
  return values;
}

static void rectangles() {
  const int width = 301, height = 77;
  const size_t row = width * sizeof(float);
  std::vector<float> image = numbers(width * height, 1);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t first, second;
  CHECK(cudaMallocArray(&first, &format, width, height));
  CHECK(cudaMallocArray(&second, &format, width, height));

  // Host, array, array, pitched device memory, host.
  CHECK(cudaMemcpy2DToArray(first, 0, 0, image.data(), row, row, height, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DArrayToArray(second, 0, 0, first, 0, 0, row, height));
  float *device;
  size_t pitch;
  CHECK(cudaMallocPitch(&device, &pitch, row, height));
  CHECK(cudaMemcpy2DFromArray(device, pitch, second, 0, 0, row, height, cudaMemcpyDeviceToDevice));
  std::vector<float> result(width * height);
  CHECK(cudaMemcpy2D(result.data(), row, device, pitch, row, height, cudaMemcpyDeviceToHost));
  require_equal(result, image);

  // A window goes from the device into the array, and another one from there to the host.
  std::vector<float> window = numbers(40 * 20, 2);
  float *small = device_copy(window);
  CHECK(cudaMemcpy2DToArray(second, 10 * sizeof(float), 5, small, 40 * sizeof(float),
      40 * sizeof(float), 20, cudaMemcpyDeviceToDevice));
  for (int y = 0; y < 20; y++) {
    std::memcpy(&image[(5 + y) * width + 10], &window[y * 40], 40 * sizeof(float));
  }
  std::vector<float> part(64 * 30, -1.0f);
  CHECK(cudaMemcpy2DFromArray(part.data(), 64 * sizeof(float), second, 3 * sizeof(float), 2,
      50 * sizeof(float), 30, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 30; y++) {
    for (int x = 0; x < 64; x++) {
      float expected = x < 50 ? image[(2 + y) * width + 3 + x] : -1.0f;
      REQUIRE(part[y * 64 + x] == expected, "window (%d, %d) is %g", x, y, part[y * 64 + x]);
    }
  }

  // From and to page-locked memory in a stream.
  cudaStream_t stream;
  float *pinned;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMallocHost(&pinned, row * height));
  std::memcpy(pinned, image.data(), row * height);
  CHECK(cudaMemcpy2DToArrayAsync(first, 0, 0, pinned, row, row, height, cudaMemcpyHostToDevice,
      stream));
  CHECK(cudaStreamSynchronize(stream));
  std::memset(pinned, 0, row * height);
  CHECK(cudaMemcpy2DFromArrayAsync(pinned, row, first, 0, 0, row, height, cudaMemcpyDeviceToHost,
      stream));
  CHECK(cudaStreamSynchronize(stream));
  result.assign(pinned, pinned + width * height);
  require_equal(result, image);

  EXPECT(cudaErrorInvalidValue, cudaMemcpy2DToArray(first, 4, 0, image.data(), row, row, height,
      cudaMemcpyHostToDevice));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy2DToArray(first, 0, 1, image.data(), row, row, height,
      cudaMemcpyHostToDevice));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFree(small));
  CHECK(cudaFreeArray(first));
  CHECK(cudaFreeArray(second));
}

// 48 MiB each way, so that pieces follow one another.
static void big() {
  const int width = 4000, height = 3000;
  const size_t row = width * sizeof(float);
  std::vector<float> image = numbers(width * height, 3);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, width, height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, height, cudaMemcpyHostToDevice));
  std::vector<float> result((width + 16) * height);
  const size_t pitch = row + 16 * sizeof(float);
  CHECK(cudaMemcpy2DFromArray(result.data(), pitch, array, 0, 0, row, height,
      cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++) {
    REQUIRE(std::memcmp(&result[y * (width + 16)], &image[y * width], row) == 0, "row %d", y);
  }
  CHECK(cudaFreeArray(array));
}

static void descriptions() {
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<short4>(), found;
  cudaExtent extent;
  unsigned int flags;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(20, 30, 5),
      cudaArrayLayered | cudaArraySurfaceLoadStore));
  CHECK(cudaArrayGetInfo(&found, &extent, &flags, array));
  REQUIRE(found.x == 16 && found.w == 16 && found.f == cudaChannelFormatKindSigned, "format %d",
      found.x);
  REQUIRE(extent.width == 20 && extent.height == 30 && extent.depth == 5, "extent %zu",
      extent.width);
  REQUIRE(flags == (cudaArrayLayered | cudaArraySurfaceLoadStore), "flags %u", flags);
  CHECK(cudaFreeArray(array));
  EXPECT(cudaErrorInvalidValue, cudaMalloc3DArray(&array, &format, make_cudaExtent(20, 30, 6),
      cudaArrayCubemap));
}

int main() {
  rectangles();
  big();
  descriptions();
  size_t before, after, total;
  CHECK(cudaMemGetInfo(&before, &total));
  for (int i = 0; i < 100; i++) {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    CHECK(cudaMallocArray(&array, &format, 1024, 1024));
    CHECK(cudaFreeArray(array));
  }
  CHECK(cudaMemGetInfo(&after, &total));
  REQUIRE(before == after, "%zu bytes are lost", before - after);
  return ok("arrays");
}
