// SPDX-License-Identifier: Apache-2.0
// Filters of an image through textures: edges, median, bilateral, and a turn with interpolation.
// nvcc: -std=c++17
#include "check.h"

#include <algorithm>

const int w = 160, h = 120;

__global__ void edges(cudaTextureObject_t image, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float p[3][3];
  for (int j = 0; j < 3; j++) {
    for (int i = 0; i < 3; i++) p[j][i] = tex2D<float>(image, x + i - 0.5f, y + j - 0.5f);
  }
  float gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
  float gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
  out[y * w + x] = sqrtf(gx * gx + gy * gy);
}

__global__ void median(cudaTextureObject_t image, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float p[9];
  for (int i = 0; i < 9; i++) p[i] = tex2D<float>(image, x + i % 3 - 0.5f, y + i / 3 - 0.5f);
  for (int i = 0; i < 5; i++) {
    for (int j = i + 1; j < 9; j++) {
      float low = fminf(p[i], p[j]);
      p[j] = fmaxf(p[i], p[j]);
      p[i] = low;
    }
  }
  out[y * w + x] = p[4];
}

__global__ void bilateral(cudaTextureObject_t image, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float centre = tex2D<float>(image, x + 0.5f, y + 0.5f), sum = 0, weights = 0;
  for (int j = -2; j <= 2; j++) {
    for (int i = -2; i <= 2; i++) {
      float value = tex2D<float>(image, x + i + 0.5f, y + j + 0.5f), d = value - centre;
      float weight = expf(-(i * i + j * j) / 4.0f - d * d * 20);
      sum += weight * value;
      weights += weight;
    }
  }
  out[y * w + x] = sum / weights;
}

__global__ void turn(cudaTextureObject_t image, float *out, float c, float s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float dx = x - w / 2, dy = y - h / 2;
  out[y * w + x] = tex2D<float>(image, c * dx - s * dy + w / 2 + 0.5f, s * dx + c * dy + h / 2 + 0.5f);
}

static cudaTextureObject_t texture_of(
    cudaArray_t array, cudaTextureAddressMode outside, cudaTextureFilterMode filter) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = outside;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

static std::vector<unsigned char> image(w *h);

static double pixel(int x, int y) {
  return image[std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1)] / 255.0;
}

static double pixel_or_black(int x, int y) {
  return x < 0 || x >= w || y < 0 || y >= h ? 0 : image[y * w + x] / 255.0;
}

template <typename Filter>
static void require_filtered(const char *name, const float *device, double tolerance, Filter filter) {
  std::vector<float> actual = host_copy(device, w * h);
  for (int i = 0; i < w * h; i++) {
    double expected = filter(i % w, i / w);
    REQUIRE(std::fabs(actual[i] - expected) < tolerance, "%s: (%d, %d) is %g, not %g", name, i % w,
        i / w, actual[i], expected);
  }
}

int main() {
  Numbers numbers(41);
  for (int i = 0; i < w * h; i++) {
    int x = i % w - w / 2, y = i / w - h / 2;
    int disc = x * x + y * y < 1500 ? 180 : 40;
    image[i] = static_cast<unsigned char>(numbers.next() % 20 == 0 ? 255 : disc + numbers.next() % 30);
  }
  cudaArray_t array;
  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
  CHECK(cudaMallocArray(&array, &bytes, w, h));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), w, w, h, cudaMemcpyHostToDevice));
  cudaTextureObject_t clamped = texture_of(array, cudaAddressModeClamp, cudaFilterModePoint);
  cudaTextureObject_t smooth = texture_of(array, cudaAddressModeBorder, cudaFilterModeLinear);
  float *out;
  CHECK(cudaMalloc(&out, w * h * sizeof(float)));
  dim3 block(16, 8), grid(w / 16, h / 8);

  edges<<<grid, block>>>(clamped, out);
  launched();
  require_filtered("edges", out, 1e-5, [](int x, int y) {
    double gx = 0, gy = 0;
    for (int d = -1; d <= 1; d++) {
      gx += (2 - d * d) * (pixel(x + 1, y + d) - pixel(x - 1, y + d));
      gy += (2 - d * d) * (pixel(x + d, y + 1) - pixel(x + d, y - 1));
    }
    return std::sqrt(gx * gx + gy * gy);
  });
  median<<<grid, block>>>(clamped, out);
  launched();
  require_filtered("median", out, 1e-6, [](int x, int y) {
    double p[9];
    for (int i = 0; i < 9; i++) p[i] = pixel(x + i % 3 - 1, y + i / 3 - 1);
    std::nth_element(p, p + 4, p + 9);
    return p[4];
  });
  bilateral<<<grid, block>>>(clamped, out);
  launched();
  require_filtered("bilateral", out, 1e-5, [](int x, int y) {
    double sum = 0, weights = 0;
    for (int i = 0; i < 25; i++) {
      int dx = i % 5 - 2, dy = i / 5 - 2;
      double value = pixel(x + dx, y + dy), d = value - pixel(x, y);
      double weight = std::exp(-(dx * dx + dy * dy) / 4.0 - d * d * 20);
      sum += weight * value;
      weights += weight;
    }
    return sum / weights;
  });
  const float c = 0.8f, s = 0.6f;
  turn<<<grid, block>>>(smooth, out, c, s);
  launched();
  // The weights of a texture's interpolation have eight bits behind the point.
  require_filtered("turn", out, 0.006, [&](int x, int y) {
    double dx = x - w / 2, dy = y - h / 2;
    double u = c * dx - s * dy + w / 2, v = s * dx + c * dy + h / 2;
    int i = int(std::floor(u)), j = int(std::floor(v));
    double a = u - i, b = v - j;
    return (1 - b) * ((1 - a) * pixel_or_black(i, j) + a * pixel_or_black(i + 1, j)) +
        b * ((1 - a) * pixel_or_black(i, j + 1) + a * pixel_or_black(i + 1, j + 1));
  });
  CHECK(cudaDestroyTextureObject(clamped));
  CHECK(cudaDestroyTextureObject(smooth));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
  return ok("four filters, %d x %d", w, h);
}
