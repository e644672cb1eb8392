// SPDX-License-Identifier: Apache-2.0
// Rows with a pitch: cudaMallocPitch, cudaMemcpy2D both ways and within the device, cudaMemset2D.
#include "check.h"

__global__ void add_row(char *base, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < width && y < height) {
    float *row = reinterpret_cast<float *>(base + y * pitch);
    row[x] += y;
  }
}

int main() {
  const int width = 333, height = 57;
  const size_t row_bytes = width * sizeof(float);
  char *image, *copy;
  size_t pitch, copy_pitch;
  CHECK(cudaMallocPitch(&image, &pitch, row_bytes, height));
  CHECK(cudaMallocPitch(&copy, &copy_pitch, row_bytes, height));
  REQUIRE(pitch >= row_bytes && pitch % 32 == 0, "pitch %zu", pitch);

  std::vector<float> host(width * height), expected(width * height);
  for (int i = 0; i < width * height; i++) {
    host[i] = static_cast<float>(i % 1009);
    expected[i] = host[i] + static_cast<float>(i / width);
  }
  CHECK(cudaMemcpy2D(image, pitch, host.data(), row_bytes, row_bytes, height,
      cudaMemcpyHostToDevice));
  add_row<<<dim3((width + 127) / 128, height), 128>>>(image, pitch, width, height);
  launched();
  CHECK(cudaMemcpy2D(copy, copy_pitch, image, pitch, row_bytes, height, cudaMemcpyDeviceToDevice));
  std::vector<float> result(width * height, -1.0f);
  CHECK(cudaMemcpy2D(result.data(), row_bytes, copy, copy_pitch, row_bytes, height,
      cudaMemcpyDeviceToHost));
  require_equal(result, expected);

  // A window: 10 columns and 5 rows from column 20, row 30, into a host matrix of another pitch.
  std::vector<float> window(5 * 16, -7.0f);
  CHECK(cudaMemcpy2D(window.data(), 16 * sizeof(float), copy + 30 * copy_pitch + 20 * sizeof(float),
      copy_pitch, 10 * sizeof(float), 5, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 5; y++) {
    for (int x = 0; x < 16; x++) {
      float value = x < 10 ? expected[(30 + y) * width + 20 + x] : -7.0f;
      REQUIRE(window[y * 16 + x] == value, "window (%d, %d) is %g", x, y, window[y * 16 + x]);
    }
  }

  CHECK(cudaMemset2D(copy, copy_pitch, 0x3f, 40, 3));
  CHECK(cudaMemcpy2D(result.data(), row_bytes, copy, copy_pitch, row_bytes, height,
      cudaMemcpyDeviceToHost));
  for (int y = 0; y < 3; y++) {
    std::memset(&expected[y * width], 0x3f, 40);
  }
  require_equal(result, expected);
  EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy2D(copy, row_bytes / 2, host.data(), row_bytes,
      row_bytes, height, cudaMemcpyHostToDevice));
  CHECK(cudaFree(image));
  CHECK(cudaFree(copy));
  return ok("%d x %d", width, height);
}
