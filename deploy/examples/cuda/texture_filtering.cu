// SPDX-License-Identifier: Apache-2.0
// Texture objects over arrays: filtering, addressing modes, normalised coordinates and reads, gathers.
#include "check.h"

struct Settings {
  cudaTextureAddressMode mode = cudaAddressModeClamp;
  cudaTextureFilterMode filter = cudaFilterModePoint;
  cudaTextureReadMode read = cudaReadModeElementType;
  bool normalized = false, srgb = false;
  float border[4] = {0, 0, 0, 0};
};

static cudaTextureObject_t texture_of(cudaArray_t array, const Settings &settings) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  for (int i = 0; i < 3; i++) {
    texture.addressMode[i] = settings.mode;
  }
  texture.filterMode = settings.filter;
  texture.readMode = settings.read;
  texture.normalizedCoords = settings.normalized;
  texture.sRGB = settings.srgb;
  std::memcpy(texture.borderColor, settings.border, sizeof settings.border);
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

template <typename T>
static cudaArray_t array_of(const std::vector<T> &values, int width, int height, unsigned flags) {
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  CHECK(cudaMallocArray(&array, &format, width, height, flags));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(T), width * sizeof(T),
      height > 0 ? height : 1, cudaMemcpyHostToDevice));
  return array;
}

__global__ void read_2d(cudaTextureObject_t texture, const float2 *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex2D<float>(texture, places[i].x, places[i].y);
  }
}

__global__ void read_1d(cudaTextureObject_t texture, const float *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex1D<float>(texture, places[i]);
  }
}

__global__ void read_uchar4(cudaTextureObject_t texture, uchar4 *out, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) {
    out[i] = tex2D<uchar4>(texture, i % width + 0.5f, i / width + 0.5f);
  }
}

__global__ void read_float4(cudaTextureObject_t texture, float4 *out, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) {
    out[i] = tex2D<float4>(texture, i % width + 0.5f, i / width + 0.5f);
  }
}

__global__ void gather(cudaTextureObject_t texture, const float2 *places, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex2Dgather<float4>(texture, places[i].x, places[i].y, 1);
  }
}

// The texture fetching of the CUDA C++ Programming Guide, on the CPU.
struct Reference {
  const std::vector<float> &values;
  int width, height;
  Settings settings;

  float element(int x, int y) const {
    int column = index(x, width), row = index(y, height);
    return column < 0 || row < 0 ? settings.border[0] : values[row * width + column];
  }

  int index(int i, int n) const {
    cudaTextureAddressMode mode = settings.mode;
    if (!settings.normalized && mode != cudaAddressModeBorder) {
      mode = cudaAddressModeClamp;
    }
    switch (mode) {
      case cudaAddressModeWrap:
        return ((i % n) + n) % n;
      case cudaAddressModeMirror: {
        int place = ((i % (2 * n)) + 2 * n) % (2 * n);
        return place < n ? place : 2 * n - 1 - place;
      }
      case cudaAddressModeClamp:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
      default:
        return i < 0 || i >= n ? -1 : i;
    }
  }

  float read(float2 place) const {
    float x = settings.normalized ? place.x * width : place.x;
    float y = settings.normalized ? place.y * height : place.y;
    if (settings.filter == cudaFilterModePoint) {
      return element(int(std::floor(x)), int(std::floor(y)));
    }
    // Weights have 8 bits behind the binary point.
    int fx = int(std::floor((x - 0.5f) * 256 + 0.5f)), fy = int(std::floor((y - 0.5f) * 256 + 0.5f));
    int i = fx >> 8, j = fy >> 8;
    float a = (fx & 255) / 256.0f, b = (fy & 255) / 256.0f;
    return (1 - a) * (1 - b) * element(i, j) + a * (1 - b) * element(i + 1, j) +
        (1 - a) * b * element(i, j + 1) + a * b * element(i + 1, j + 1);
  }
};

static void planes() {
  const int width = 37, height = 21, n = 4000;
  Numbers numbers(5);
  std::vector<float> values(width * height);
  for (float &value : values) {
    value = numbers.unit();
  }
  std::vector<float2> places(n);
  for (float2 &place : places) {
    place = make_float2(numbers.unit() * 3 - 1, numbers.unit() * 3 - 1);
  }
  cudaArray_t array = array_of(values, width, height, 0);
  float *out;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  for (cudaTextureAddressMode mode : {cudaAddressModeWrap, cudaAddressModeClamp,
           cudaAddressModeMirror, cudaAddressModeBorder}) {
    for (cudaTextureFilterMode filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
      for (bool normalized : {false, true}) {
        Settings settings;
        settings.mode = mode;
        settings.filter = filter;
        settings.normalized = normalized;
        settings.border[0] = 0.25f;
        std::vector<float2> at = places;
        for (float2 &place : at) {
          if (!normalized) {
            place = make_float2(place.x * width, place.y * height);
          }
        }
        float2 *device = device_copy(at);
        cudaTextureObject_t texture = texture_of(array, settings);
        read_2d<<<(n + 127) / 128, 128>>>(texture, device, out, n);
        launched();
        std::vector<float> result = host_copy(out, n);
        Reference reference{values, width, height, settings};
        for (int i = 0; i < n; i++) {
          float expected = reference.read(at[i]);
          // A card may round a weight the other way.
          float tolerance = filter == cudaFilterModePoint ? 0 : 1.0f / 128;
          REQUIRE(std::fabs(result[i] - expected) <= tolerance,
              "mode %d filter %d normalised %d at (%g, %g): %g, not %g", mode, filter, normalized,
              at[i].x, at[i].y, result[i], expected);
        }
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaFree(device));
      }
    }
  }
  CHECK(cudaFree(out));
  CHECK(cudaFreeArray(array));
}

static void line() {
  std::vector<float> values = {1, 2, 4, 8, 16};
  std::vector<float> places = {0.5f, 1.0f, 1.25f, 4.5f, 9.0f, -3.0f, 2.0f};
  std::vector<float> expected = {1, 1.5f, 1.75f, 16, 16, 1, 3};
  cudaArray_t array = array_of(values, 5, 0, 0);
  Settings settings;
  settings.filter = cudaFilterModeLinear;
  cudaTextureObject_t texture = texture_of(array, settings);
  float *at = device_copy(places), *out;
  CHECK(cudaMalloc(&out, places.size() * sizeof(float)));
  read_1d<<<1, 32>>>(texture, at, out, int(places.size()));
  launched();
  require_equal(host_copy(out, places.size()), expected);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(at));
  CHECK(cudaFree(out));
  CHECK(cudaFreeArray(array));
}

static void bytes() {
  const int width = 16, height = 16;
  std::vector<uchar4> values(width * height);
  for (int i = 0; i < width * height; i++) {
    values[i] = make_uchar4(i, 255 - i, i / 2, 7 * i);
  }
  cudaArray_t array = array_of(values, width, height, 0);
  Settings settings;
  cudaTextureObject_t plain = texture_of(array, settings);
  settings.read = cudaReadModeNormalizedFloat;
  cudaTextureObject_t real = texture_of(array, settings);
  settings.srgb = true;
  cudaTextureObject_t decoded = texture_of(array, settings);
  uchar4 *integers;
  float4 *floats;
  CHECK(cudaMalloc(&integers, values.size() * sizeof(uchar4)));
  CHECK(cudaMalloc(&floats, values.size() * sizeof(float4)));
  read_uchar4<<<2, 128>>>(plain, integers, width, height);
  launched();
  std::vector<uchar4> read = host_copy(integers, values.size());
  REQUIRE(std::memcmp(read.data(), values.data(), values.size() * sizeof(uchar4)) == 0, "bytes");
  read_float4<<<2, 128>>>(real, floats, width, height);
  launched();
  std::vector<float4> normalized = host_copy(floats, values.size());
  for (int i = 0; i < width * height; i++) {
    REQUIRE(std::fabs(normalized[i].y - values[i].y / 255.0f) < 1e-6f, "%d: %g", i,
        normalized[i].y);
    REQUIRE(std::fabs(normalized[i].w - values[i].w / 255.0f) < 1e-6f, "%d: %g", i,
        normalized[i].w);
  }
  read_float4<<<2, 128>>>(decoded, floats, width, height);
  launched();
  std::vector<float4> light = host_copy(floats, values.size());
  for (int i = 0; i < width * height; i++) {
    double c = values[i].x / 255.0;
    double expected = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    REQUIRE(std::fabs(light[i].x - expected) < 2e-3, "%d: %g, not %g", i, light[i].x, expected);
    REQUIRE(std::fabs(light[i].w - values[i].w / 255.0f) < 1e-6f, "%d: %g", i, light[i].w);
  }
  for (cudaTextureObject_t texture : {plain, real, decoded}) {
    CHECK(cudaDestroyTextureObject(texture));
  }
  // Integers cannot be interpolated.
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description{};
  description.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t object;
  EXPECT(cudaErrorInvalidFilterSetting,
      cudaCreateTextureObject(&object, &resource, &description, nullptr));
  cudaGetLastError();
  CHECK(cudaFree(integers));
  CHECK(cudaFree(floats));
  CHECK(cudaFreeArray(array));
}

static void gathers() {
  const int width = 8, height = 8;
  std::vector<float2> values(width * height);
  for (int i = 0; i < width * height; i++) {
    values[i] = make_float2(i, 100 + i);
  }
  cudaArray_t array = array_of(values, width, height, cudaArrayTextureGather);
  cudaTextureObject_t texture = texture_of(array, Settings());
  std::vector<float2> places = {make_float2(3, 4), make_float2(1.25f, 6.75f), make_float2(8, 8)};
  float2 *at = device_copy(places);
  float4 *out;
  CHECK(cudaMalloc(&out, places.size() * sizeof(float4)));
  gather<<<1, 32>>>(texture, at, out, int(places.size()));
  launched();
  std::vector<float4> result = host_copy(out, places.size());
  for (size_t i = 0; i < places.size(); i++) {
    int x = int(std::floor(places[i].x - 0.5f)), y = int(std::floor(places[i].y - 0.5f));
    auto value = [&](int column, int row) {
      column = column >= width ? width - 1 : column;
      row = row >= height ? height - 1 : row;
      return values[row * width + column].y;
    };
    float4 expected =
        make_float4(value(x, y + 1), value(x + 1, y + 1), value(x + 1, y), value(x, y));
    REQUIRE(std::memcmp(&result[i], &expected, sizeof expected) == 0, "%zu: (%g %g %g %g)", i,
        result[i].x, result[i].y, result[i].z, result[i].w);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(at));
  CHECK(cudaFree(out));
  CHECK(cudaFreeArray(array));
}

int main() {
  planes();
  line();
  bytes();
  gathers();
  return ok("4 modes");
}
