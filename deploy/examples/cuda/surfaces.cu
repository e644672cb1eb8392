// SPDX-License-Identifier: Apache-2.0
// Surfaces: reads and writes of every width, in one to three dimensions and in layers, boundary modes,
// what a texture sees of what was written, and the fault outside.
#include "check.h"

static cudaArray_t make(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags) {
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore));
  return array;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

template <typename T>
__device__ T value_at(int x, int y, int z);

template <>
__device__ unsigned char value_at(int x, int y, int z) { return x + 3 * y + 7 * z; }
template <>
__device__ short value_at(int x, int y, int z) { return 100 * x - y + z; }
template <>
__device__ float value_at(int x, int y, int z) { return x + 0.25f * y + 100 * z; }
template <>
__device__ uchar4 value_at(int x, int y, int z) { return make_uchar4(x, y, z, x ^ y); }
template <>
__device__ float2 value_at(int x, int y, int z) { return make_float2(x - y, z); }
template <>
__device__ int4 value_at(int x, int y, int z) { return make_int4(x, -y, z, x * y); }
template <>
__device__ long long value_at(int x, int y, int z) { return 0x100000000LL * x + 1000 * y + z; }

template <typename T>
__global__ void write_3d(cudaSurfaceObject_t surface, int w, int h, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x = i % w, y = i / w % h, z = i / w / h;
  if (z < d) {
    surf3Dwrite(value_at<T>(x, y, z), surface, x * int(sizeof(T)), y, z);
  }
}

template <typename T>
__global__ void check_3d(cudaSurfaceObject_t surface, int w, int h, int d, int *wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x = i % w, y = i / w % h, z = i / w / h;
  if (z < d) {
    T expected = value_at<T>(x, y, z), read;
    surf3Dread(&read, surface, x * int(sizeof(T)), y, z);
    const char *a = reinterpret_cast<const char *>(&expected);
    const char *b = reinterpret_cast<const char *>(&read);
    for (int k = 0; k < int(sizeof(T)); k++) {
      if (a[k] != b[k]) {
        atomicAdd(wrong, 1);
      }
    }
  }
}

template <typename T>
static void widths(cudaChannelFormatDesc format, int *wrong) {
  const int w = 19, h = 7, d = 5;
  cudaArray_t array = make(format, make_cudaExtent(w, h, d), 0);
  cudaSurfaceObject_t surface = surface_of(array);
  write_3d<T><<<6, 128>>>(surface, w, h, d);
  check_3d<T><<<6, 128>>>(surface, w, h, d, wrong);
  launched();
  int bytes;
  CHECK(cudaMemcpy(&bytes, wrong, sizeof bytes, cudaMemcpyDeviceToHost));
  REQUIRE(bytes == 0, "%d bytes of elements of %zu are wrong", bytes, sizeof(T));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
}

__global__ void lines(cudaSurfaceObject_t line, cudaSurfaceObject_t layered, int w, int layers) {
  int x = threadIdx.x;
  if (x < w) {
    surf1Dwrite(float(x), line, x * 4);
    for (int layer = 0; layer < layers; layer++) {
      surf1DLayeredwrite(float(100 * layer + x), layered, x * 4, layer);
    }
  }
}

// Shifts an image by (3, 2): what comes from outside is the edge, or nothing.
__global__ void shift(cudaSurfaceObject_t from, cudaSurfaceObject_t clamped,
    cudaSurfaceObject_t zeroed, int w, int h) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x < w) {
    int a, b;
    surf2Dread(&a, from, (x - 3) * 4, y - 2, cudaBoundaryModeClamp);
    surf2Dread(&b, from, (x - 3) * 4, y - 2, cudaBoundaryModeZero);
    surf2Dwrite(a, clamped, x * 4, y);
    surf2Dwrite(b, zeroed, x * 4, y);
    surf2Dwrite(-1, zeroed, (x + w) * 4, y, cudaBoundaryModeZero);  // is left out
  }
}

__global__ void sum_texture(cudaTextureObject_t texture, float *out, int w) {
  int x = threadIdx.x;
  if (x < w) {
    out[x] = tex1D<float>(texture, x + 0.5f);
  }
}

__global__ void layer_numbers(cudaSurfaceObject_t surface, int w, int h, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h * layers) {
    surf2DLayeredwrite(float(i), surface, i % w * 4, i / w % h, i / w / h);
  }
}

__global__ void outside(cudaSurfaceObject_t surface) { surf2Dwrite(1, surface, 4 * 1000, 0); }

int main() {
  int *wrong;
  CHECK(cudaMalloc(&wrong, sizeof *wrong));
  CHECK(cudaMemset(wrong, 0, sizeof *wrong));
  widths<unsigned char>(cudaCreateChannelDesc<unsigned char>(), wrong);
  widths<short>(cudaCreateChannelDesc<short>(), wrong);
  widths<float>(cudaCreateChannelDesc<float>(), wrong);
  widths<uchar4>(cudaCreateChannelDesc<uchar4>(), wrong);
  widths<float2>(cudaCreateChannelDesc<float2>(), wrong);
  widths<int4>(cudaCreateChannelDesc<int4>(), wrong);
  widths<long long>(cudaCreateChannelDesc<int2>(), wrong);

  // Lines, and layers of them; a texture over the same array sees what was written.
  const int w = 50, h = 20, layers = 4;
  cudaArray_t line = make(cudaCreateChannelDesc<float>(), make_cudaExtent(w, 0, 0), 0);
  cudaArray_t layered =
      make(cudaCreateChannelDesc<float>(), make_cudaExtent(w, 0, layers), cudaArrayLayered);
  cudaSurfaceObject_t line_surface = surface_of(line), layered_surface = surface_of(layered);
  lines<<<1, 64>>>(line_surface, layered_surface, w, layers);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = line;
  cudaTextureDesc description{};
  description.addressMode[0] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  float *out;
  CHECK(cudaMalloc(&out, w * sizeof(float)));
  sum_texture<<<1, 64>>>(texture, out, w);
  launched();
  std::vector<float> read = host_copy(out, w), expected(w * layers);
  for (int i = 0; i < w; i++) {
    REQUIRE(read[i] == float(i), "texture %d: %g", i, read[i]);
  }
  std::vector<float> all(w * layers);
  cudaMemcpy3DParms copy{};
  copy.srcArray = layered;
  copy.dstPtr = make_cudaPitchedPtr(all.data(), w * sizeof(float), w, 1);
  copy.extent = make_cudaExtent(w, 1, layers);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  for (int i = 0; i < w * layers; i++) {
    expected[i] = float(100 * (i / w) + i % w);
  }
  require_equal(all, expected);

  // Layers of planes.
  cudaArray_t planes =
      make(cudaCreateChannelDesc<float>(), make_cudaExtent(w, h, layers), cudaArrayLayered);
  cudaSurfaceObject_t planes_surface = surface_of(planes);
  layer_numbers<<<(w * h * layers + 127) / 128, 128>>>(planes_surface, w, h, layers);
  launched();
  std::vector<float> volume(w * h * layers);
  copy.srcArray = planes;
  copy.dstPtr = make_cudaPitchedPtr(volume.data(), w * sizeof(float), w, h);
  copy.extent = make_cudaExtent(w, h, layers);
  CHECK(cudaMemcpy3D(&copy));
  for (size_t i = 0; i < volume.size(); i++) {
    REQUIRE(volume[i] == float(i), "plane element %zu: %g", i, volume[i]);
  }

  // Boundary modes.
  std::vector<int> image(w * h), clamped(w * h), zeroed(w * h);
  for (int i = 0; i < w * h; i++) {
    image[i] = i + 1;
  }
  cudaArray_t arrays[3];
  cudaSurfaceObject_t surfaces[3];
  for (int i = 0; i < 3; i++) {
    arrays[i] = make(cudaCreateChannelDesc<int>(), make_cudaExtent(w, h, 0), 0);
    surfaces[i] = surface_of(arrays[i]);
  }
  CHECK(cudaMemcpy2DToArray(arrays[0], 0, 0, image.data(), w * 4, w * 4, h,
      cudaMemcpyHostToDevice));
  shift<<<h, 64>>>(surfaces[0], surfaces[1], surfaces[2], w, h);
  launched();
  CHECK(cudaMemcpy2DFromArray(clamped.data(), w * 4, arrays[1], 0, 0, w * 4, h,
      cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy2DFromArray(zeroed.data(), w * 4, arrays[2], 0, 0, w * 4, h,
      cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; i++) {
    int x = i % w - 3, y = i / w - 2;
    int edge = image[(y < 0 ? 0 : y) * w + (x < 0 ? 0 : x)];
    REQUIRE(clamped[i] == edge, "clamped %d: %d, not %d", i, clamped[i], edge);
    REQUIRE(zeroed[i] == (x < 0 || y < 0 ? 0 : edge), "zeroed %d: %d", i, zeroed[i]);
  }

  // Without a boundary mode it is a fault, which ends the context.
  outside<<<1, 1>>>(surfaces[0]);
  cudaError_t error = cudaDeviceSynchronize();
  REQUIRE(error == cudaErrorLaunchFailure || error == cudaErrorIllegalAddress,
      "a write outside gives %s", cudaGetErrorName(error));
  EXPECT(error, cudaFree(out));
  return ok("7 widths");
}
