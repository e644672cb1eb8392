// SPDX-License-Identifier: Apache-2.0
// Conditional nodes of graphs: if and else, while, switch; one in the other; captured; updated.
#include "check.h"

// Sets a condition to whether a counter, one less than before, is not 0 yet.
__global__ void count_down(cudaGraphConditionalHandle condition, int *left) {
  *left -= 1;
  cudaGraphSetConditional(condition, *left > 0);
}

__global__ void choose(cudaGraphConditionalHandle condition, const int *value, int modulus) {
  cudaGraphSetConditional(condition, modulus ? *value % modulus : *value);
}

__global__ void add(int *sum, int amount) { *sum += amount; }

__global__ void write(int *target, int value) { *target = value; }

struct Graph {
  cudaGraph_t graph;

  Graph() { CHECK(cudaGraphCreate(&graph, 0)); }
  ~Graph() { CHECK(cudaGraphDestroy(graph)); }
  operator cudaGraph_t() const { return graph; }
};

static cudaGraphConditionalHandle condition(cudaGraph_t graph, unsigned value = 0,
    unsigned flags = 0) {
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value, flags));
  return handle;
}

template <typename... Args>
static cudaGraphNode_t kernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after,
    void (*function)(Args...), Args... args) {
  void *pointers[] = {&args...};
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = (void *)function;
  params.kernel.gridDim = dim3(1);
  params.kernel.blockDim = dim3(1);
  params.kernel.kernelParams = pointers;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
  return node;
}

struct Conditional {
  cudaGraphNode_t node;
  std::vector<cudaGraph_t> bodies;
};

static Conditional conditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> after,
    cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = type;
  params.conditional.size = size;
  Conditional made;
  CHECK(cudaGraphAddNode(&made.node, graph, after.data(), nullptr, after.size(), &params));
  made.bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
  return made;
}

static void launch(cudaGraphExec_t exec, int times = 1) {
  for (int i = 0; i < times; i++) CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaStreamSynchronize(nullptr));
}

static int read(const int *device) {
  int value;
  CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

static void set(int *device, int value) {
  CHECK(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
}

static void test_if(int *value, int *sum) {
  Graph graph;
  cudaGraphConditionalHandle handle = condition(graph);
  cudaGraphNode_t before = kernel(graph, {}, choose, handle, (const int *)value, 0);
  Conditional node = conditional(graph, {before}, handle, cudaGraphCondTypeIf, 2);
  kernel(node.bodies[0], {}, add, sum, 1);
  kernel(node.bodies[1], {}, add, sum, 100);
  kernel(graph, {node.node}, add, sum, 10000);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaGraph_t copy;
  cudaGraphExec_t second;
  EXPECT(cudaErrorNotSupported, cudaGraphClone(&copy, graph));
  EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&second, graph, 0));
  set(sum, 0);
  for (int turn = 0; turn < 6; turn++) {
    set(value, turn % 3);
    launch(exec);
  }
  REQUIRE(read(sum) == 60000 + 4 * 1 + 2 * 100, "if: %d", read(sum));
  CHECK(cudaGraphExecDestroy(exec));

  // Again, once the other is gone.
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  set(value, 0);
  set(sum, 0);
  launch(exec, 3);
  REQUIRE(read(sum) == 3 * 10100, "if again: %d", read(sum));
  CHECK(cudaGraphExecDestroy(exec));
}

static void test_while(int *left, int *sum) {
  Graph graph;
  cudaGraphConditionalHandle handle = condition(graph, 1, cudaGraphCondAssignDefault);
  Conditional loop = conditional(graph, {}, handle, cudaGraphCondTypeWhile, 1);
  cudaGraphNode_t first = kernel(loop.bodies[0], {}, add, sum, 3);
  kernel(loop.bodies[0], {first}, count_down, handle, left);
  kernel(graph, {loop.node}, add, sum, 1000000);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  set(left, 500);
  set(sum, 0);
  launch(exec);
  REQUIRE(read(sum) == 1001500 && read(left) == 0, "while: %d", read(sum));
  // The default is given at each launch: the body runs once more.
  launch(exec);
  REQUIRE(read(sum) == 2001503, "while, default: %d", read(sum));

  // A node within the body.
  int amount = 7;
  void *pointers[] = {&sum, &amount};
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = (void *)add;
  params.kernel.gridDim = dim3(1);
  params.kernel.blockDim = dim3(1);
  params.kernel.kernelParams = pointers;
  CHECK(cudaGraphExecNodeSetParams(exec, first, &params));
  set(left, 10);
  set(sum, 0);
  launch(exec);
  REQUIRE(read(sum) == 1000070, "while, changed: %d", read(sum));

  // The whole graph: the condition with its default value, and what the nodes do.
  Graph other;
  cudaGraphConditionalHandle never = condition(other, 0, cudaGraphCondAssignDefault);
  Conditional otherLoop = conditional(other, {}, never, cudaGraphCondTypeWhile, 1);
  first = kernel(otherLoop.bodies[0], {}, add, sum, 5);
  kernel(otherLoop.bodies[0], {first}, count_down, never, left);
  kernel(other, {otherLoop.node}, add, sum, 1);
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, other, &info));
  set(sum, 0);
  launch(exec, 2);
  REQUIRE(read(sum) == 2, "while, updated: %d", read(sum));
  CHECK(cudaGraphExecDestroy(exec));
}

static void test_switch(int *value, int *sum) {
  Graph graph;
  cudaGraphConditionalHandle handle = condition(graph);
  cudaGraphNode_t before = kernel(graph, {}, choose, handle, (const int *)value, 5);
  Conditional node = conditional(graph, {before}, handle, cudaGraphCondTypeSwitch, 4);
  int amount = 1;
  for (cudaGraph_t body : node.bodies) {
    kernel(body, {}, add, sum, amount);
    amount *= 10;
  }
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  set(sum, 0);
  for (int i = 0; i < 15; i++) {
    set(value, i);
    launch(exec);
  }
  REQUIRE(read(sum) == 3333, "switch: %d", read(sum));
  CHECK(cudaGraphExecDestroy(exec));
}

// A loop over left, ..., 1 that adds 1 for even numbers, and 10, 100 or 0 for odd ones by their rest.
static void test_nested(int *left, int *sum, int *value) {
  Graph graph;
  cudaGraphConditionalHandle loops = condition(graph, 1, cudaGraphCondAssignDefault);
  cudaGraphConditionalHandle odd = condition(graph);
  cudaGraphConditionalHandle rest = condition(graph);
  Conditional loop = conditional(graph, {}, loops, cudaGraphCondTypeWhile, 1);
  cudaGraphNode_t ask = kernel(loop.bodies[0], {}, choose, odd, (const int *)left, 2);
  Conditional either = conditional(loop.bodies[0], {ask}, odd, cudaGraphCondTypeIf, 2);
  kernel(loop.bodies[0], {either.node}, count_down, loops, left);
  cudaGraphNode_t askRest = kernel(either.bodies[0], {}, choose, rest, (const int *)left, 3);
  Conditional cases = conditional(either.bodies[0], {askRest}, rest, cudaGraphCondTypeSwitch, 2);
  kernel(cases.bodies[0], {}, add, sum, 10);
  kernel(cases.bodies[1], {}, add, sum, 100);
  kernel(either.bodies[1], {}, add, sum, 1);

  // Nodes that involve the host may come after it.
  int result = 0;
  cudaGraphNode_t copy;
  CHECK(cudaGraphAddMemcpyNode1D(
      &copy, graph, &loop.node, 1, &result, sum, sizeof result, cudaMemcpyDeviceToHost));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  int expected = 0;
  for (int i = 1; i <= 100; i++) expected += i % 2 == 0 ? 1 : i % 3 == 0 ? 10 : i % 3 == 1 ? 100 : 0;
  set(left, 100);
  set(sum, 0);
  launch(exec);
  REQUIRE(result == expected, "nested: %d, not %d", result, expected);
  CHECK(cudaGraphExecDestroy(exec));
}

// All kinds of nodes that a body may have: copies, fills, child graphs and empty ones.
static void test_kinds(int *left, int *sum) {
  const int N = 64;
  int *from, *to;
  CHECK(cudaMalloc(&from, N * sizeof(int)));
  CHECK(cudaMalloc(&to, N * sizeof(int)));
  Graph graph, child;
  kernel(child, {kernel(child, {}, add, sum, 1)}, add, sum, 1);
  cudaGraphConditionalHandle handle = condition(graph, 1, cudaGraphCondAssignDefault);
  Conditional loop = conditional(graph, {}, handle, cudaGraphCondTypeWhile, 1);
  cudaGraph_t body = loop.bodies[0];
  cudaMemsetParams bytes = {};
  bytes.dst = from;
  bytes.elementSize = 4;
  bytes.value = 0x01020304;
  bytes.width = N;
  bytes.height = 1;
  cudaGraphNode_t fill, copy, inner, meet;
  CHECK(cudaGraphAddMemsetNode(&fill, body, nullptr, 0, &bytes));
  CHECK(cudaGraphAddMemcpyNode1D(
      &copy, body, &fill, 1, to, from, N * sizeof(int), cudaMemcpyDeviceToDevice));
  CHECK(cudaGraphAddChildGraphNode(&inner, body, nullptr, 0, child));
  cudaGraphNode_t both[] = {copy, inner};
  CHECK(cudaGraphAddEmptyNode(&meet, body, both, 2));
  kernel(body, {meet}, count_down, handle, left);
  Graph outer;
  cudaGraphNode_t refused;
  EXPECT(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&refused, outer, nullptr, 0, graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  set(left, 25);
  set(sum, 0);
  launch(exec);
  REQUIRE(read(sum) == 50 && read(to + N - 1) == 0x01020304, "kinds: %d", read(sum));

  // A fill within the body with another value.
  bytes.value = 5;
  CHECK(cudaGraphExecMemsetNodeSetParams(exec, fill, &bytes));
  set(left, 2);
  launch(exec);
  REQUIRE(read(sum) == 54 && read(to) == 5, "kinds, changed: %d, %d", read(sum), read(to));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  cudaGetLastError();
}

// A conditional node put among captured work; its body captured, too.
static void test_capture(int *left, int *sum) {
  cudaStream_t stream, inner;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&inner));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  write<<<1, 1, 0, stream>>>(left, 20);
  write<<<1, 1, 0, stream>>>(sum, 0);
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t *after;
  const cudaGraphEdgeData *edges;
  size_t count;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &after, &edges, &count));
  cudaGraphConditionalHandle handle = condition(graph, 1, cudaGraphCondAssignDefault);
  Conditional loop = conditional(graph, std::vector<cudaGraphNode_t>(after, after + count), handle,
      cudaGraphCondTypeWhile, 1);
  CHECK(cudaStreamUpdateCaptureDependencies(
      stream, &loop.node, nullptr, 1, cudaStreamSetCaptureDependencies));
  CHECK(cudaStreamBeginCaptureToGraph(
      inner, loop.bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  add<<<1, 1, 0, inner>>>(sum, 2);
  count_down<<<1, 1, 0, inner>>>(handle, left);
  CHECK(cudaStreamEndCapture(inner, nullptr));
  add<<<1, 1, 0, stream>>>(sum, 1);
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  launch(exec, 3);
  REQUIRE(read(sum) == 41, "captured: %d", read(sum));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaStreamDestroy(inner));
  CHECK(cudaStreamDestroy(stream));
}

// Refusals: a host function in a body, a condition that is used twice, an invalid condition.
static void test_refusals() {
  Graph graph;
  cudaGraphConditionalHandle handle = condition(graph);
  Conditional node = conditional(graph, {}, handle, cudaGraphCondTypeIf, 1);
  cudaHostNodeParams call = {[](void *) {}, nullptr};
  cudaGraphNode_t host;
  cudaGraphExec_t exec;
  CHECK(cudaGraphAddHostNode(&host, node.bodies[0], nullptr, 0, &call));
  EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  cudaGraphNode_t second;
  EXPECT(cudaErrorInvalidValue, cudaGraphAddNode(&second, graph, nullptr, nullptr, 0, &params));
  params.conditional.handle = 12345;
  EXPECT(cudaErrorInvalidValue, cudaGraphAddNode(&second, graph, nullptr, nullptr, 0, &params));
  params.conditional.handle = condition(graph);
  params.conditional.size = 2;
  EXPECT(cudaErrorInvalidValue, cudaGraphAddNode(&second, graph, nullptr, nullptr, 0, &params));
  cudaGetLastError();
}

int main() {
  int *value, *sum, *left;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMalloc(&sum, sizeof(int)));
  CHECK(cudaMalloc(&left, sizeof(int)));
  test_if(value, sum);
  test_while(left, sum);
  test_switch(value, sum);
  test_nested(left, sum, value);
  test_kinds(left, sum);
  test_capture(left, sum);
  test_refusals();
  return ok("if and else, while, switch, nested, captured and updated");
}
