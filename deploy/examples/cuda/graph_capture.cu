// SPDX-License-Identifier: Apache-2.0
// Stream capture: kernels, copies, fills and host functions of two streams become one graph, which is
// launched many times and does the same each time; and the errors for what cannot be captured.
#include "check.h"

static const int N = 20000;

__global__ void scale(const float *in, float *out, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}

__global__ void add(const float *a, const float *b, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] += a[i] + b[i];
}

struct Seen {
  const float *result;
  int calls;
  float last;
};

static void CUDART_CB look(void *data) {
  Seen *seen = static_cast<Seen *>(data);
  seen->calls++;
  seen->last = seen->result[N - 1];
}

static int blocks() { return (N + 255) / 256; }

static void forked_work() {
  std::vector<float> result(N);
  float *host, *in, *left, *right, *sum;
  CHECK(cudaMallocHost(&host, N * sizeof(float)));
  for (float **array : {&in, &left, &right, &sum}) CHECK(cudaMalloc(array, N * sizeof(float)));
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&join));
  Seen seen = {result.data(), 0, 0};

  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpyAsync(in, host, N * sizeof(float), cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<blocks(), 256, 0, stream>>>(in, left, 2.0f, N);
  scale<<<blocks(), 256, 0, side>>>(in, right, 3.0f, N);
  CHECK(cudaMemsetAsync(sum, 0, N * sizeof(float), side));
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  add<<<blocks(), 256, 0, stream>>>(left, right, sum, N);
  // Pageable memory: filled when the graph has come to here, with each launch.
  CHECK(cudaMemcpyAsync(result.data(), sum, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaLaunchHostFunc(stream, look, &seen));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(side, &status));
  REQUIRE(status == cudaStreamCaptureStatusActive, "the side stream does not capture");
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaStreamIsCapturing(side, &status));
  REQUIRE(status == cudaStreamCaptureStatusNone, "the side stream still captures");
  REQUIRE(seen.calls == 0 && result[0] == 0, "something ran while it was captured");

  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 7, "%zu nodes", nodes);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int round = 1; round <= 20; round++) {
    // The contents of host memory at the time of the launch count.
    for (int i = 0; i < N; i++) host[i] = float(i % 1000 + round);
    CHECK(cudaGraphLaunch(exec, round % 2 ? stream : side));
    CHECK(cudaStreamSynchronize(round % 2 ? stream : side));
    for (int i = 0; i < N; i++) {
      float expected = 5.0f * float(i % 1000 + round);
      REQUIRE(result[i] == expected, "round %d: element %d is %f, not %f", round, i, result[i],
          expected);
    }
    REQUIRE(seen.calls == round, "%d calls after %d rounds", seen.calls, round);
    REQUIRE(seen.last == result[N - 1], "the host function saw %f", seen.last);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaStreamDestroy(stream));
  for (float *array : {in, left, right, sum}) CHECK(cudaFree(array));
  CHECK(cudaFreeHost(host));
}

__global__ void increment(int *value) { *value += 1; }

// Many small launches: what graphs are for.
static void chain() {
  int *value;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 500; i++) increment<<<1, 1, 0, stream>>>(value);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphUpload(exec, stream));
  for (int i = 0; i < 10; i++) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(host_copy(value, 1)[0] == 5000, "the value is %d", host_copy(value, 1)[0]);

  // A launch that is captured is a child graph.
  cudaGraph_t outer;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CHECK(cudaGraphLaunch(exec, stream));
  increment<<<1, 1, 0, stream>>>(value);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamEndCapture(stream, &outer));
  cudaGraphExec_t outerExec;
  CHECK(cudaGraphInstantiate(&outerExec, outer, 0));
  CHECK(cudaGraphLaunch(outerExec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(host_copy(value, 1)[0] == 6001, "the value is %d", host_copy(value, 1)[0]);
  CHECK(cudaGraphExecDestroy(outerExec));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(outer));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(value));
}

// A library's own stream and events may live for a part of somebody's capture only.
static cudaError_t with_passing_stream(cudaStream_t stream, int *value, bool joined, cudaGraph_t *graph) {
  cudaStream_t passing;
  cudaEvent_t fork, join;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaStreamCreateWithFlags(&passing, cudaStreamNonBlocking));
  for (cudaEvent_t *event : {&fork, &join}) CHECK(cudaEventCreate(event));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(passing, fork, 0));
  increment<<<1, 1, 0, passing>>>(value);
  CHECK(cudaEventRecord(join, passing));
  if (joined) CHECK(cudaStreamWaitEvent(stream, join, 0));
  CHECK(cudaStreamDestroy(passing));
  for (cudaEvent_t event : {fork, join}) CHECK(cudaEventDestroy(event));
  increment<<<1, 1, 0, stream>>>(value);
  return cudaStreamEndCapture(stream, graph);
}

static void passing_stream() {
  cudaStream_t stream;
  cudaGraph_t graph, none;
  cudaGraphExec_t exec;
  int *value;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  CHECK(cudaStreamCreate(&stream));
  CHECK(with_passing_stream(stream, value, true, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(host_copy(value, 1)[0] == 2, "the value is %d", host_copy(value, 1)[0]);
  EXPECT(cudaErrorStreamCaptureUnjoined, with_passing_stream(stream, value, false, &none));
  cudaGetLastError();
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(value));
}

static void errors() {
  cudaStream_t stream, other, nonBlocking;
  cudaEvent_t event;
  cudaGraph_t graph;
  int *value, read;
  CHECK(cudaMalloc(&value, sizeof(int)));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaStreamCreateWithFlags(&nonBlocking, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));

  EXPECT(cudaErrorStreamCaptureUnsupported,
      cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  cudaGetLastError();

  // Waiting for a stream that captures ends the capture.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(stream, &status));
  REQUIRE(status == cudaStreamCaptureStatusInvalidated, "status %d", status);
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  REQUIRE(graph == nullptr, "a graph of an invalid capture");
  cudaGetLastError();

  // The legacy default stream would wait for a blocking stream that captures, not for others.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  increment<<<1, 1>>>(value);
  EXPECT(cudaErrorStreamCaptureImplicit, cudaGetLastError());
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  CHECK(cudaStreamBeginCapture(nonBlocking, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMemset(value, 0, sizeof(int)));
  increment<<<1, 1>>>(value);
  CHECK(cudaMemcpy(&read, value, sizeof(int), cudaMemcpyDeviceToHost));
  REQUIRE(read == 1, "beside a capture, the value is %d", read);
  CHECK(cudaStreamEndCapture(nonBlocking, &graph));
  CHECK(cudaGraphDestroy(graph));

  // Allocating is not captured, and so forbidden unless asked for.
  int *more;
  CHECK(cudaStreamBeginCapture(nonBlocking, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorStreamCaptureUnsupported, cudaMalloc(&more, 64));
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(nonBlocking, &graph));
  CHECK(cudaStreamBeginCapture(nonBlocking, cudaStreamCaptureModeRelaxed));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  REQUIRE(mode == cudaStreamCaptureModeGlobal, "the mode was %d", mode);
  CHECK(cudaMalloc(&more, 64));
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(cudaStreamEndCapture(nonBlocking, &graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(more));

  // A fork must be joined, and a capture must not wait for work outside it.
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(other, event, 0));
  increment<<<1, 1, 0, other>>>(value);
  EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  cudaGetLastError();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaStreamWaitEvent(other, event, 0));
  increment<<<1, 1, 0, other>>>(value);
  EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &graph));
  EXPECT(cudaErrorCapturedEvent, cudaEventSynchronize(event));
  cudaGetLastError();
  CHECK(cudaEventRecord(event, other));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, event, 0));
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  cudaGetLastError();
  CHECK(cudaEventSynchronize(event));

  // After all this the streams work as before.
  CHECK(cudaMemset(value, 0, sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  increment<<<1, 1, 0, stream>>>(value);
  CHECK(cudaStreamSynchronize(stream));
  REQUIRE(host_copy(value, 1)[0] == 1, "the value is %d", host_copy(value, 1)[0]);
  CHECK(cudaEventDestroy(event));
  for (cudaStream_t each : {stream, other, nonBlocking}) CHECK(cudaStreamDestroy(each));
  CHECK(cudaFree(value));
}

int main() {
  forked_work();
  chain();
  passing_stream();
  errors();
  return ok("forks, joins, passing streams, child graphs, errors");
}
