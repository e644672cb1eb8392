// SPDX-License-Identifier: Apache-2.0
// Random graphs against a simulation on the CPU: kernels, copies on the device, round trips through
// host memory and host functions, with edges wherever one reads what another writes; as they are and
// as children of a larger graph. And a cooperative launch that is captured.
#include <memory>

#include "check.h"

static const int N = 512;

__global__ void combine(unsigned *out, const unsigned *a, const unsigned *b, unsigned salt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) out[i] = a[i] * 2654435761u + (b[i] ^ salt) + i;
}

enum Kind { COMBINE, COPY, CLEAR, THROUGH_HOST, KINDS };

struct Step {
  Kind kind;
  int a, b;  // slots that it reads; it writes its own
  unsigned salt;
};

struct Random {
  std::vector<Step> steps;
  std::vector<unsigned *> slots;  // on the device
  std::vector<std::vector<unsigned>> buffers;  // on the host
  std::vector<std::unique_ptr<std::pair<unsigned *, unsigned>>> calls;
  cudaGraph_t graph;
  size_t nodes = 0;
};

static void CUDART_CB scramble(void *data) {
  auto *call = static_cast<std::pair<unsigned *, unsigned> *>(data);
  for (int i = 0; i < N; i++) call->first[i] ^= call->second;
}

static void build(Random &random, Numbers &numbers, int count) {
  CHECK(cudaGraphCreate(&random.graph, 0));
  std::vector<cudaGraphNode_t> ends;
  random.buffers.resize(count);
  for (int i = 0; i < count; i++) {
    unsigned *slot;
    CHECK(cudaMalloc(&slot, N * sizeof(unsigned)));
    random.slots.push_back(slot);
    Step step = {i < 2 ? CLEAR : Kind(numbers.next() % KINDS), 0, 0, numbers.next() % 255};
    if (i >= 2) {
      step.a = int(numbers.next() % unsigned(i));
      step.b = int(numbers.next() % unsigned(i));
    }
    std::vector<cudaGraphNode_t> after;
    if (step.kind != CLEAR) after.push_back(ends[step.a]);
    if (step.kind == COMBINE && step.b != step.a) after.push_back(ends[step.b]);
    cudaGraphNode_t node, next;
    if (step.kind == COMBINE) {
      void *args[] = {&slot, &random.slots[step.a], &random.slots[step.b], &step.salt};
      cudaKernelNodeParams params = {};
      params.func = (void *)combine;
      params.gridDim = dim3(4);
      params.blockDim = dim3(128);
      params.kernelParams = args;
      CHECK(cudaGraphAddKernelNode(&node, random.graph, after.data(), after.size(), &params));
    } else if (step.kind == COPY) {
      CHECK(cudaGraphAddMemcpyNode1D(&node, random.graph, after.data(), after.size(), slot,
          random.slots[step.a], N * sizeof(unsigned), cudaMemcpyDeviceToDevice));
    } else if (step.kind == CLEAR) {
      cudaMemsetParams params = {};
      params.dst = slot;
      params.value = step.salt;
      params.elementSize = 1;
      params.width = N * sizeof(unsigned);
      params.height = 1;
      CHECK(cudaGraphAddMemsetNode(&node, random.graph, nullptr, 0, &params));
    } else {
      random.buffers[i].resize(N);
      unsigned *host = random.buffers[i].data();
      CHECK(cudaGraphAddMemcpyNode1D(&node, random.graph, after.data(), after.size(), host,
          random.slots[step.a], N * sizeof(unsigned), cudaMemcpyDeviceToHost));
      random.calls.emplace_back(new std::pair<unsigned *, unsigned>(host, step.salt));
      cudaHostNodeParams call = {scramble, random.calls.back().get()};
      CHECK(cudaGraphAddHostNode(&next, random.graph, &node, 1, &call));
      CHECK(cudaGraphAddMemcpyNode1D(&node, random.graph, &next, 1, slot, host,
          N * sizeof(unsigned), cudaMemcpyHostToDevice));
    }
    ends.push_back(node);
    random.steps.push_back(step);
  }
  CHECK(cudaGraphGetNodes(random.graph, nullptr, &random.nodes));
}

static void check_slots(const Random &random) {
  std::vector<std::vector<unsigned>> expected;
  for (size_t i = 0; i < random.steps.size(); i++) {
    const Step &step = random.steps[i];
    std::vector<unsigned> values(N);
    for (int j = 0; j < N; j++) {
      switch (step.kind) {
        case COMBINE:
          values[j] = expected[step.a][j] * 2654435761u + (expected[step.b][j] ^ step.salt) + j;
          break;
        case COPY: values[j] = expected[step.a][j]; break;
        case CLEAR: values[j] = step.salt * 0x01010101u; break;
        default: values[j] = expected[step.a][j] ^ step.salt; break;
      }
    }
    std::vector<unsigned> actual = host_copy(random.slots[i], N);
    REQUIRE(actual == values, "slot %zu of kind %d is wrong", i, step.kind);
    expected.push_back(values);
  }
}

static void wipe(const Random &random) {
  for (unsigned *slot : random.slots) CHECK(cudaMemset(slot, 0xee, N * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
}

static void launch(const Random &random, cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 2; round++) {
    wipe(random);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    check_slots(random);
  }
  CHECK(cudaGraphExecDestroy(exec));
}

int main() {
  Numbers numbers(2024);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  size_t nodes = 0;
  for (int i = 0; i < 6; i++) {
    Random random;
    build(random, numbers, 10 + 10 * i);
    nodes += random.nodes;
    launch(random, random.graph, stream);
    cudaGraph_t parent, copy;
    cudaGraphNode_t child, again;
    CHECK(cudaGraphCreate(&parent, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, random.graph));
    CHECK(cudaGraphAddChildGraphNode(&again, parent, &child, 1, random.graph));
    CHECK(cudaGraphClone(&copy, parent));
    CHECK(cudaGraphDestroy(parent));
    launch(random, copy, stream);
    CHECK(cudaGraphDestroy(copy));
    CHECK(cudaGraphDestroy(random.graph));
    for (unsigned *slot : random.slots) CHECK(cudaFree(slot));
  }

  // A cooperative launch keeps being one in a graph.
  unsigned *values, *zeros, salt = 7;
  CHECK(cudaMalloc(&values, N * sizeof(unsigned)));
  CHECK(cudaMalloc(&zeros, N * sizeof(unsigned)));
  void *args[] = {&values, &zeros, &zeros, &salt};
  cudaGraph_t graph;
  cudaGraphNode_t last;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(zeros, 0, N * sizeof(unsigned), stream));
  CHECK(cudaLaunchCooperativeKernel((void *)combine, dim3(4), dim3(128), args, 0, stream));
  const cudaGraphNode_t *frontier;
  size_t ends = 0;
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &frontier, nullptr, &ends));
  REQUIRE(status == cudaStreamCaptureStatusActive && ends == 1, "%zu ends while capturing", ends);
  last = frontier[0];
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaKernelNodeAttrValue attribute = {};
  CHECK(cudaGraphKernelNodeGetAttribute(last, cudaLaunchAttributeCooperative, &attribute));
  REQUIRE(attribute.cooperative == 1, "the node is not cooperative");
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<unsigned> expected(N);
  for (int i = 0; i < N; i++) expected[i] = salt + i;
  require_equal(host_copy(values, N), expected);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(values));
  CHECK(cudaFree(zeros));
  return ok("6 graphs of %zu nodes", nodes);
}
