// SPDX-License-Identifier: Apache-2.0
// Textures of three dimensions, in layers and on the faces of a cube.
#include "check.h"

static cudaArray_t make(const std::vector<float> &values, cudaExtent extent, unsigned flags) {
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
  cudaMemcpy3DParms copy{};
  size_t rows = extent.height > 0 ? extent.height : 1;
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float *>(values.data()),
      extent.width * sizeof(float), extent.width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, rows, extent.depth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}

static cudaTextureObject_t texture_of(
    cudaArray_t array, cudaTextureFilterMode filter, bool normalized) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  for (int i = 0; i < 3; i++) {
    texture.addressMode[i] = cudaAddressModeClamp;
  }
  texture.filterMode = filter;
  texture.normalizedCoords = normalized;
  cudaTextureObject_t object;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

static std::vector<float> numbers(size_t count) {
  Numbers generator(count);
  std::vector<float> values(count);
  for (float &value : values) {
    value = generator.unit();
  }
  return values;
}

__global__ void read_volume(cudaTextureObject_t texture, const float4 *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = tex3D<float>(texture, places[i].x, places[i].y, places[i].z);
  }
}

__global__ void read_planes(cudaTextureObject_t texture, float *out, int w, int h, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h * layers) {
    out[i] = tex2DLayered<float>(texture, i % w + 0.5f, i / w % h + 0.5f, i / w / h);
  }
}

__global__ void read_lines(cudaTextureObject_t texture, float *out, int w, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * layers) {
    out[i] = tex1DLayered<float>(texture, i % w + 0.5f, i / w);
  }
}

__global__ void read_cube(cudaTextureObject_t texture, const float4 *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = texCubemap<float>(texture, places[i].x, places[i].y, places[i].z);
  }
}

__global__ void read_cubes(cudaTextureObject_t texture, const float4 *places, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = texCubemapLayered<float>(texture, places[i].x, places[i].y, places[i].z,
        int(places[i].w));
  }
}

static void volume() {
  const int w = 13, h = 11, d = 7, n = 3000;
  std::vector<float> values = numbers(w * h * d);
  cudaArray_t array = make(values, make_cudaExtent(w, h, d), 0);
  cudaTextureObject_t texture = texture_of(array, cudaFilterModeLinear, false);
  Numbers generator(3);
  std::vector<float4> places(n);
  for (float4 &place : places) {
    place = make_float4(generator.unit() * w, generator.unit() * h, generator.unit() * d, 0);
  }
  float4 *at = device_copy(places);
  float *out;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  read_volume<<<(n + 127) / 128, 128>>>(texture, at, out, n);
  launched();
  std::vector<float> result = host_copy(out, n);
  auto element = [&](int x, int y, int z) {
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    z = z < 0 ? 0 : z >= d ? d - 1 : z;
    return values[(z * h + y) * w + x];
  };
  for (int i = 0; i < n; i++) {
    float x = places[i].x - 0.5f, y = places[i].y - 0.5f, z = places[i].z - 0.5f;
    int ix = int(std::floor(x)), iy = int(std::floor(y)), iz = int(std::floor(z));
    double sum = 0;
    for (int corner = 0; corner < 8; corner++) {
      int dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2;
      double weight = (dx ? x - ix : 1 - (x - ix)) * (dy ? y - iy : 1 - (y - iy)) *
          (dz ? z - iz : 1 - (z - iz));
      sum += weight * element(ix + dx, iy + dy, iz + dz);
    }
    REQUIRE(std::fabs(result[i] - sum) < 0.015, "volume %d: %g, not %g", i, result[i], sum);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(at));
  CHECK(cudaFree(out));
}

static void layers() {
  const int w = 33, h = 17, n = 5;
  std::vector<float> values = numbers(w * h * n);
  cudaArray_t planes = make(values, make_cudaExtent(w, h, n), cudaArrayLayered);
  cudaTextureObject_t texture = texture_of(planes, cudaFilterModePoint, false);
  float *out;
  CHECK(cudaMalloc(&out, values.size() * sizeof(float)));
  read_planes<<<(w * h * n + 127) / 128, 128>>>(texture, out, w, h, n);
  launched();
  require_equal(host_copy(out, values.size()), values);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(planes));

  std::vector<float> rows(values.begin(), values.begin() + w * n);
  cudaArray_t lines = make(rows, make_cudaExtent(w, 0, n), cudaArrayLayered);
  texture = texture_of(lines, cudaFilterModePoint, false);
  read_lines<<<(w * n + 127) / 128, 128>>>(texture, out, w, n);
  launched();
  require_equal(host_copy(out, rows.size()), rows);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(lines));
  CHECK(cudaFree(out));
}

// The place on the cube that a direction meets: face, and the element on it.
static int cube_element(float4 p, int side) {
  float ax = std::fabs(p.x), ay = std::fabs(p.y), az = std::fabs(p.z);
  int face;
  float major, s, t;
  if (ax > ay && ax > az) {
    face = p.x > 0 ? 0 : 1, major = ax, s = p.x > 0 ? -p.z : p.z, t = -p.y;
  } else if (ay > az) {
    face = p.y > 0 ? 2 : 3, major = ay, s = p.x, t = p.y > 0 ? p.z : -p.z;
  } else {
    face = p.z > 0 ? 4 : 5, major = az, s = p.z > 0 ? p.x : -p.x, t = -p.y;
  }
  int column = int((s / major + 1) / 2 * side), row = int((t / major + 1) / 2 * side);
  return (face * side + row) * side + column;
}

static void cubes() {
  const int side = 8, n = 2000, count = 3;
  std::vector<float> values = numbers(side * side * 6 * count);
  cudaArray_t one = make(values, make_cudaExtent(side, side, 6), cudaArrayCubemap);
  cudaArray_t several = make(values, make_cudaExtent(side, side, 6 * count),
      cudaArrayCubemap | cudaArrayLayered);
  Numbers generator(4);
  std::vector<float4> places;
  while (places.size() < n) {
    float4 p = make_float4(generator.unit() * 2 - 1, generator.unit() * 2 - 1,
        generator.unit() * 2 - 1, float(generator.next() % count));
    places.push_back(p);
  }
  float4 *at = device_copy(places);
  float *out;
  CHECK(cudaMalloc(&out, n * sizeof(float)));
  cudaTextureObject_t texture = texture_of(one, cudaFilterModePoint, true);
  read_cube<<<(n + 127) / 128, 128>>>(texture, at, out, n);
  launched();
  std::vector<float> result = host_copy(out, n);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    wrong += result[i] != values[cube_element(places[i], side)];
  }
  CHECK(cudaDestroyTextureObject(texture));
  texture = texture_of(several, cudaFilterModePoint, true);
  read_cubes<<<(n + 127) / 128, 128>>>(texture, at, out, n);
  launched();
  result = host_copy(out, n);
  for (int i = 0; i < n; i++) {
    int element = cube_element(places[i], side) + int(places[i].w) * side * side * 6;
    wrong += result[i] != values[element];
  }
  // A direction that meets the edge between two elements may go to either.
  REQUIRE(wrong <= 8, "%d of %d directions meet another element", wrong, 2 * n);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(one));
  CHECK(cudaFreeArray(several));
  CHECK(cudaFree(at));
  CHECK(cudaFree(out));
}

int main() {
  volume();
  layers();
  cubes();
  return ok("volumes, layers, cubes");
}
