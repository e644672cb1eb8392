// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy3D among host memory, pitched device memory and arrays, all nine ways; boxes within boxes.
#include "check.h"

struct Volume {
  int width, height, depth;
  std::vector<int> values;

  Volume(int w, int h, int d) : width(w), height(h), depth(d), values(w * h * d) {}

  int &at(int x, int y, int z) { return values[(z * height + y) * width + x]; }
};

static Volume filled(int width, int height, int depth, uint64_t seed) {
  Volume volume(width, height, depth);
  Numbers numbers(seed);
  for (int &value : volume.values) {
    value = static_cast<int>(numbers.next());
  }
  return volume;
}

static cudaPitchedPtr pitched(Volume &volume) {
  return make_cudaPitchedPtr(volume.values.data(), volume.width * sizeof(int), volume.width,
      volume.height);
}

enum Place { HOST, MEMORY, ARRAY };

// A volume somewhere, to copy from or to.
struct Somewhere {
  Place place;
  cudaPitchedPtr memory{};
  cudaArray_t array = nullptr;

  Somewhere(Place where, Volume &volume) : place(where) {
    cudaExtent bytes = make_cudaExtent(volume.width * sizeof(int), volume.height, volume.depth);
    cudaExtent elements = make_cudaExtent(volume.width, volume.height, volume.depth);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = pitched(volume);
    switch (place) {
      case HOST:
        memory = pitched(volume);
        return;
      case MEMORY:
        CHECK(cudaMalloc3D(&memory, bytes));
        copy.dstPtr = memory;
        copy.extent = bytes;
        break;
      case ARRAY: {
        cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
        CHECK(cudaMalloc3DArray(&array, &format, elements, 0));
        copy.dstArray = array;
        copy.extent = elements;
        break;
      }
    }
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
  }

  void fetch(Volume &volume) {
    if (place == HOST) {
      return;
    }
    cudaMemcpy3DParms copy{};
    copy.srcPtr = memory;
    copy.srcArray = array;
    copy.dstPtr = pitched(volume);
    copy.extent = make_cudaExtent(place == ARRAY ? volume.width : volume.width * sizeof(int),
        volume.height, volume.depth);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
  }

  void release() {
    if (place == MEMORY) {
      CHECK(cudaFree(memory.ptr));
    } else if (place == ARRAY) {
      CHECK(cudaFreeArray(array));
    }
  }
};

static void box(Place from, Place to, bool async) {
  Volume source = filled(37, 19, 11, 7), target = filled(29, 23, 13, 8);
  Volume expected = target;
  const int w = 17, h = 9, d = 6;
  for (int z = 0; z < d; z++) {
    for (int y = 0; y < h; y++) {
      for (int x = 0; x < w; x++) {
        expected.at(x + 3, y + 10, z + 5) = source.at(x + 12, y + 4, z + 2);
      }
    }
  }
  Somewhere here(from, source), there(to, target);
  bool elements = from == ARRAY || to == ARRAY;
  cudaMemcpy3DParms copy{};
  copy.srcPtr = here.memory;
  copy.srcArray = here.array;
  copy.srcPos = make_cudaPos(elements ? 12 : 12 * sizeof(int), 4, 2);
  copy.dstPtr = there.memory;
  copy.dstArray = there.array;
  copy.dstPos = make_cudaPos(elements ? 3 : 3 * sizeof(int), 10, 5);
  copy.extent = make_cudaExtent(elements ? w : w * sizeof(int), h, d);
  copy.kind = cudaMemcpyDefault;
  if (async) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpy3DAsync(&copy, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  } else {
    CHECK(cudaMemcpy3D(&copy));
  }
  there.fetch(target);
  require_equal(target.values, expected.values);
  here.release();
  there.release();
}

int main() {
  for (Place from : {HOST, MEMORY, ARRAY}) {
    for (Place to : {HOST, MEMORY, ARRAY}) {
      box(from, to, false);
      box(from, to, true);
    }
  }

  // 60 MiB, rows of an odd length, into slices with room between them.
  Volume big = filled(333, 177, 256, 9);
  Somewhere array(ARRAY, big);
  Volume roomy(340, 190, 256);
  cudaMemcpy3DParms copy{};
  copy.srcArray = array.array;
  copy.dstPtr = pitched(roomy);
  copy.extent = make_cudaExtent(big.width, big.height, big.depth);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  for (int z = 0; z < big.depth; z++) {
    for (int y = 0; y < roomy.height; y++) {
      for (int x = 0; x < roomy.width; x++) {
        bool inside = x < big.width && y < big.height;
        REQUIRE(roomy.at(x, y, z) == (inside ? big.at(x, y, z) : 0), "(%d, %d, %d)", x, y, z);
      }
    }
  }
  copy.extent.depth++;
  EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&copy));
  copy.extent.depth--;
  copy.dstPtr.pitch = 100;
  EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy3D(&copy));
  array.release();
  return ok("9 ways");
}
