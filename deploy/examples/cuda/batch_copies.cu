// SPDX-License-Identifier: Apache-2.0
// Copies given many at a time, of runs and of boxes, and copies of boxes between devices by name.
// gpus: 2
#include "check.h"

static void runs(cudaStream_t stream) {
  const int count = 20;
  std::vector<std::vector<int>> sources, results;
  std::vector<int *> device;
  std::vector<void *> to, back;
  std::vector<const void *> from, there;
  std::vector<size_t> sizes;
  Numbers numbers(12);
  for (int i = 0; i < count; i++) {
    std::vector<int> values(1000 * i + 7);
    for (int &value : values) {
      value = int(numbers.next());
    }
    sources.push_back(values);
    results.emplace_back(values.size());
    sizes.push_back(values.size() * sizeof(int));
    int *memory;
    CHECK(cudaMalloc(&memory, sizes.back()));
    device.push_back(memory);
  }
  for (int i = 0; i < count; i++) {
    to.push_back(device[i]);
    from.push_back(sources[i].data());
    there.push_back(device[i]);
    back.push_back(results[i].data());
  }
  cudaMemcpyAttributes attributes[2]{};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  size_t first[2] = {0, 5};
  CHECK(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count, attributes, first, 2,
      stream));
  CHECK(cudaMemcpyBatchAsync(back.data(), there.data(), sizes.data(), count, attributes, first, 1,
      stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < count; i++) {
    require_equal(results[i], sources[i]);
  }
  EXPECT(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count,
      attributes, first, 2, nullptr));
  first[1] = count;
  EXPECT(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), count,
      attributes, first, 2, stream));
  cudaGetLastError();
  for (int *memory : device) {
    CHECK(cudaFree(memory));
  }
}

static void boxes(cudaStream_t stream) {
  const int w = 30, h = 20, d = 10;
  std::vector<float> values(w * h * d), result(w * h * d);
  for (size_t i = 0; i < values.size(); i++) {
    values[i] = float(i);
  }
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(w, h, d), 0));
  cudaMemcpy3DBatchOp copies[2]{};
  for (cudaMemcpy3DBatchOp &copy : copies) {
    copy.extent = make_cudaExtent(w, h, d / 2);
    copy.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  }
  for (int half = 0; half < 2; half++) {
    copies[half].src.type = cudaMemcpyOperandTypePointer;
    copies[half].src.op.ptr.ptr = values.data() + half * w * h * d / 2;
    copies[half].dst.type = cudaMemcpyOperandTypeArray;
    copies[half].dst.op.array.array = array;
    copies[half].dst.op.array.offset.z = half * d / 2;
  }
  CHECK(cudaMemcpy3DBatchAsync(2, copies, 0, stream));
  for (int half = 0; half < 2; half++) {
    copies[half].dst = {};
    copies[half].src = {};
    copies[half].src.type = cudaMemcpyOperandTypeArray;
    copies[half].src.op.array.array = array;
    copies[half].src.op.array.offset.z = half * d / 2;
    copies[half].dst.type = cudaMemcpyOperandTypePointer;
    copies[half].dst.op.ptr.ptr = result.data() + half * w * h * d / 2;
    copies[half].dst.op.ptr.rowLength = w;
    copies[half].dst.op.ptr.layerHeight = h;
  }
  CHECK(cudaMemcpy3DBatchAsync(2, copies, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  require_equal(result, values);
  CHECK(cudaFreeArray(array));
}

static void peers() {
  const int w = 40, h = 30;
  std::vector<int> values(w * h), result(w * h);
  for (int i = 0; i < w * h; i++) {
    values[i] = 3 * i;
  }
  int devices;
  CHECK(cudaGetDeviceCount(&devices));
  int other = devices > 1 ? 1 : 0;
  int *here = device_copy(values);
  CHECK(cudaSetDevice(other));
  cudaPitchedPtr there;
  CHECK(cudaMalloc3D(&there, make_cudaExtent(w * sizeof(int), h, 1)));
  cudaMemcpy3DPeerParms copy{};
  copy.srcDevice = 0;
  copy.srcPtr = make_cudaPitchedPtr(here, w * sizeof(int), w, h);
  copy.dstDevice = other;
  copy.dstPtr = there;
  copy.extent = make_cudaExtent(w * sizeof(int), h, 1);
  CHECK(cudaMemcpy3DPeer(&copy));
  CHECK(cudaMemcpy2D(result.data(), w * sizeof(int), there.ptr, there.pitch, w * sizeof(int), h,
      cudaMemcpyDeviceToHost));
  require_equal(result, values);
  CHECK(cudaFree(there.ptr));
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(here));
}

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  runs(stream);
  boxes(stream);
  peers();
  CHECK(cudaStreamDestroy(stream));
  return ok("runs, boxes, peers");
}
