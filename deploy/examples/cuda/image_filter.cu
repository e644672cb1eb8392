// SPDX-License-Identifier: Apache-2.0
// A separable Gaussian filter of an image: rows through a texture, columns through another.
#include "check.h"

const int radius = 8;
__constant__ float weights[2 * radius + 1];

__global__ void filter_rows(cudaTextureObject_t image, cudaSurfaceObject_t out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = -radius; k <= radius; k++) {
      float4 value = tex2D<float4>(image, x + k + 0.5f, y + 0.5f);
      float weight = weights[k + radius];
      sum.x += weight * value.x;
      sum.y += weight * value.y;
      sum.z += weight * value.z;
    }
    surf2Dwrite(sum, out, x * int(sizeof sum), y);
  }
}

__global__ void filter_columns(cudaTextureObject_t rows, uchar4 *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) {
    float r = 0, g = 0, b = 0;
    for (int k = -radius; k <= radius; k++) {
      float4 value = tex2D<float4>(rows, x + 0.5f, y + k + 0.5f);
      r += weights[k + radius] * value.x;
      g += weights[k + radius] * value.y;
      b += weights[k + radius] * value.z;
    }
    out[y * w + x] = make_uchar4(__float2int_rn(r * 255), __float2int_rn(g * 255),
        __float2int_rn(b * 255), 255);
  }
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureReadMode mode) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  texture.readMode = mode;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

int main() {
  const int w = 320, h = 200;
  std::vector<uchar4> image(w * h);
  Numbers numbers(10);
  for (int i = 0; i < w * h; i++) {
    bool square = (i % w / 20 + i / w / 20) % 2 == 0;
    image[i] = make_uchar4(square ? 255 : 0, i % w * 255 / w, numbers.next() & 255, 255);
  }
  float kernel[2 * radius + 1], total = 0;
  for (int k = -radius; k <= radius; k++) {
    total += kernel[k + radius] = std::exp(-k * k / 18.0f);
  }
  for (float &weight : kernel) {
    weight /= total;
  }
  CHECK(cudaMemcpyToSymbol(weights, kernel, sizeof kernel));

  cudaArray_t source, between;
  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>();
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float4>();
  CHECK(cudaMallocArray(&source, &bytes, w, h));
  CHECK(cudaMallocArray(&between, &floats, w, h, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(source, 0, 0, image.data(), w * sizeof(uchar4), w * sizeof(uchar4), h,
      cudaMemcpyHostToDevice));
  cudaTextureObject_t first = texture_of(source, cudaReadModeNormalizedFloat);
  cudaTextureObject_t second = texture_of(between, cudaReadModeElementType);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = between;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  uchar4 *out;
  CHECK(cudaMalloc(&out, w * h * sizeof(uchar4)));
  dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
  filter_rows<<<grid, block>>>(first, surface, w, h);
  filter_columns<<<grid, block>>>(second, out, w, h);
  launched();
  std::vector<uchar4> result = host_copy(out, w * h);

  auto clamp = [](int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
  std::vector<double> rows(w * h * 3);
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      for (int k = -radius; k <= radius; k++) {
        uchar4 value = image[y * w + clamp(x + k, w)];
        rows[(y * w + x) * 3] += kernel[k + radius] * value.x;
        rows[(y * w + x) * 3 + 1] += kernel[k + radius] * value.y;
        rows[(y * w + x) * 3 + 2] += kernel[k + radius] * value.z;
      }
    }
  }
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) {
      double sum[3] = {0, 0, 0};
      for (int k = -radius; k <= radius; k++) {
        for (int c = 0; c < 3; c++) {
          sum[c] += kernel[k + radius] * rows[(clamp(y + k, h) * w + x) * 3 + c];
        }
      }
      uchar4 value = result[y * w + x];
      REQUIRE(std::fabs(value.x - sum[0]) < 0.51 && std::fabs(value.y - sum[1]) < 0.51 &&
              std::fabs(value.z - sum[2]) < 0.51 && value.w == 255,
          "(%d, %d) is (%d, %d, %d), not (%g, %g, %g)", x, y, value.x, value.y, value.z, sum[0],
          sum[1], sum[2]);
    }
  }
  CHECK(cudaDestroyTextureObject(first));
  CHECK(cudaDestroyTextureObject(second));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(source));
  CHECK(cudaFreeArray(between));
  CHECK(cudaFree(out));
  return ok("%d x %d", w, h);
}
