// SPDX-License-Identifier: Apache-2.0
// All GPUs there are, one or many, of one machine or of several: a host thread a GPU, copies around a ring in streams
// of the source, of the destination and of neither, events across GPUs, and random programs against the processor.
// gpus: 2
#include <thread>

#include "check.h"

constexpr int COUNT = 40000;
constexpr size_t BYTES = COUNT * sizeof(unsigned);

static int devices;

__global__ void mix(unsigned *values, int count, unsigned factor, unsigned addend) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] = values[i] * factor + addend + i;
  }
}

__global__ void add(unsigned *values, const unsigned *others, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] += others[i];
  }
}

using Values = std::vector<unsigned>;

static void mix_on_host(Values &values, unsigned factor, unsigned addend) {
  for (int i = 0; i < COUNT; i++) {
    values[i] = values[i] * factor + addend + i;
  }
}

static Values begin_with(unsigned seed) {
  Values values(COUNT);
  for (int i = 0; i < COUNT; i++) {
    values[i] = i * 2654435761u + seed;
  }
  return values;
}

static void same(const unsigned *device, const Values &expected, const char *what, int number) {
  Values values(COUNT);
  CHECK(cudaMemcpy(values.data(), device, BYTES, cudaMemcpyDefault));
  for (int i = 0; i < COUNT; i++) {
    REQUIRE(values[i] == expected[i], "%s, %d: element %d is %u, not %u", what, number, i, values[i],
        expected[i]);
  }
}

static void launch_mix(int device, cudaStream_t stream, unsigned *values, unsigned factor,
    unsigned addend) {
  CHECK(cudaSetDevice(device));
  mix<<<(COUNT + 255) / 256, 256, 0, stream>>>(values, COUNT, factor, addend);
  launched();
}

static unsigned *allocate(int device, const Values &values) {
  unsigned *memory;
  CHECK(cudaSetDevice(device));
  CHECK(cudaMalloc(&memory, BYTES));
  CHECK(cudaMemcpy(memory, values.data(), BYTES, cudaMemcpyHostToDevice));
  return memory;
}

// A host thread a GPU, none of which knows of the others.
static void work_alone(int device) {
  Values expected = begin_with(device);
  unsigned *values = allocate(device, expected);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (unsigned round = 1; round <= 20; round++) {
    launch_mix(device, stream, values, 2 * round + 1, device + round);
    mix_on_host(expected, 2 * round + 1, device + round);
  }
  CHECK(cudaStreamSynchronize(stream));
  same(values, expected, "alone", device);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(values));
}

static void alone() {
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; device++) {
    threads.emplace_back(work_alone, device);
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

// Each GPU adds what its neighbour has; the copies are synchronous, or as the third one asks for.
static void ring_of_synchronous_copies() {
  std::vector<unsigned *> own, inbox;
  std::vector<Values> expected;
  for (int device = 0; device < devices; device++) {
    expected.push_back(begin_with(100 + device));
    own.push_back(allocate(device, expected[device]));
    inbox.push_back(allocate(device, expected[device]));
  }
  for (int round = 0; round < 3; round++) {
    std::vector<Values> before = expected;
    for (int device = 0; device < devices; device++) {
      int from = (device + 1) % devices;
      CHECK(cudaSetDevice(round % devices));
      if (round == 0) {
        CHECK(cudaMemcpyPeer(inbox[device], device, own[from], from, BYTES));
      } else if (round == 1) {
        CHECK(cudaMemcpy(inbox[device], own[from], BYTES, cudaMemcpyDefault));
      } else {
        CHECK(cudaMemcpy2D(inbox[device], 400, own[from], 400, 400, BYTES / 400, cudaMemcpyDefault));
      }
    }
    for (int device = 0; device < devices; device++) {
      int from = (device + 1) % devices;
      CHECK(cudaSetDevice(device));
      add<<<(COUNT + 255) / 256, 256>>>(own[device], inbox[device], COUNT);
      launched();
      CHECK(cudaDeviceSynchronize());
      for (int i = 0; i < COUNT; i++) {
        expected[device][i] = before[device][i] + before[from][i];
      }
    }
  }
  for (int device = 0; device < devices; device++) {
    same(own[device], expected[device], "ring of synchronous copies", device);
    CHECK(cudaFree(own[device]));
    CHECK(cudaFree(inbox[device]));
  }
}

// The same without a wait of the host: events order kernels and copies, whose streams are of any GPU.
static void ring_of_asynchronous_copies() {
  const int rounds = 12;
  std::vector<unsigned *> own, inbox;
  std::vector<cudaStream_t> streams;
  std::vector<cudaEvent_t> computed, copied;
  std::vector<Values> expected;
  for (int device = 0; device < devices; device++) {
    expected.push_back(begin_with(200 + device));
    own.push_back(allocate(device, expected[device]));
    inbox.push_back(allocate(device, expected[device]));
    streams.emplace_back();
    computed.emplace_back();
    copied.emplace_back();
    CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&computed[device], cudaEventDisableTiming));
  }
  for (int device = 0; device < devices; device++) {
    CHECK(cudaSetDevice((device + devices - 1) % devices));
    CHECK(cudaEventCreateWithFlags(&copied[device], cudaEventDisableTiming));
  }
  for (int round = 0; round < rounds; round++) {
    for (int device = 0; device < devices; device++) {
      launch_mix(device, streams[device], own[device], 2 * round + 3, device);
      mix_on_host(expected[device], 2 * round + 3, device);
      CHECK(cudaEventRecord(computed[device], streams[device]));
    }
    for (int device = 0; device < devices; device++) {
      int from = (device + 1) % devices;
      int of = round % 3 == 0 ? device : round % 3 == 1 ? from : (device + devices - 1) % devices;
      CHECK(cudaSetDevice(of));
      CHECK(cudaStreamWaitEvent(streams[of], computed[from], 0));
      CHECK(cudaStreamWaitEvent(streams[of], computed[device], 0));
      CHECK(cudaMemcpyPeerAsync(inbox[device], device, own[from], from, BYTES, streams[of]));
      cudaEvent_t done;
      CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
      CHECK(cudaEventRecord(done, streams[of]));
      for (int waiting : {device, from}) {
        CHECK(cudaStreamWaitEvent(streams[waiting], done, 0));
      }
      CHECK(cudaEventDestroy(done));
    }
    std::vector<Values> before = expected;
    for (int device = 0; device < devices; device++) {
      CHECK(cudaSetDevice(device));
      add<<<(COUNT + 255) / 256, 256, 0, streams[device]>>>(own[device], inbox[device], COUNT);
      launched();
      for (int i = 0; i < COUNT; i++) {
        expected[device][i] += before[(device + 1) % devices][i];
      }
    }
  }
  for (int device = 0; device < devices; device++) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceSynchronize());
    same(own[device], expected[device], "ring of asynchronous copies", device);
    CHECK(cudaStreamDestroy(streams[device]));
    CHECK(cudaEventDestroy(computed[device]));
    CHECK(cudaEventDestroy(copied[device]));
    CHECK(cudaFree(own[device]));
    CHECK(cudaFree(inbox[device]));
  }
}

// Memory of one GPU while another one is current.
static void memory_of_others() {
  for (int current = 0; current < devices; current++) {
    int other = (current + 1) % devices;
    Values expected = begin_with(300 + current), zeros(COUNT, 0);
    unsigned *there = allocate(other, zeros);
    CHECK(cudaSetDevice(current));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpy(there, expected.data(), BYTES, cudaMemcpyDefault));
    same(there, expected, "written from the host", current);
    CHECK(cudaMemset(there, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    same(there, zeros, "set to zero", current);
    unsigned *pinned;
    CHECK(cudaMallocHost(&pinned, BYTES));
    memcpy(pinned, expected.data(), BYTES);
    CHECK(cudaMemcpyAsync(there, pinned, BYTES, cudaMemcpyDefault, stream));
    CHECK(cudaMemsetAsync(there, 0xff, BYTES / 2, stream));
    CHECK(cudaMemcpyAsync(pinned, there, BYTES, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) {
      unsigned wanted = i < COUNT / 2 ? 0xffffffffu : expected[i];
      REQUIRE(pinned[i] == wanted, "there and back, %d: element %d is %u", current, i, pinned[i]);
    }
    CHECK(cudaFreeHost(pinned));
    // The default stream of one GPU waits for work of another.
    CHECK(cudaMemcpy(there, expected.data(), BYTES, cudaMemcpyDefault));
    CHECK(cudaSetDevice(other));
    cudaEvent_t mixed;
    CHECK(cudaEventCreate(&mixed));
    launch_mix(other, nullptr, there, 7, 11);
    CHECK(cudaEventRecord(mixed, nullptr));
    mix_on_host(expected, 7, 11);
    unsigned *here = allocate(current, zeros);
    CHECK(cudaStreamWaitEvent(nullptr, mixed, 0));
    CHECK(cudaMemcpyAsync(here, there, BYTES, cudaMemcpyDefault, nullptr));
    same(here, expected, "fetched after an event", current);
    CHECK(cudaEventDestroy(mixed));
    CHECK(cudaFree(here));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, there));
    REQUIRE(attributes.device == other, "memory of GPU %d is said to be of %d", other,
        attributes.device);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(there));
  }
}

// Rows of pitched memory from GPU to GPU.
static void rows() {
  const int width = 1000, height = 37;
  for (int device = 0; device < devices; device++) {
    int other = (device + 1) % devices;
    cudaPitchedPtr from, to;
    std::vector<unsigned char> bytes(width * height), back(width * height);
    for (size_t i = 0; i < bytes.size(); i++) {
      bytes[i] = (unsigned char)(i * 7 + i / 251 + device);
    }
    CHECK(cudaSetDevice(other));
    CHECK(cudaMalloc3D(&to, make_cudaExtent(width, height, 1)));
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc3D(&from, make_cudaExtent(width, height, 1)));
    CHECK(cudaMemcpy2D(from.ptr, from.pitch, bytes.data(), width, width, height,
        cudaMemcpyHostToDevice));
    cudaMemcpy3DPeerParms copy = {};
    copy.srcPtr = from;
    copy.srcDevice = device;
    copy.dstPtr = to;
    copy.dstDevice = other;
    copy.extent = make_cudaExtent(width, height, 1);
    CHECK(cudaMemcpy3DPeer(&copy));
    CHECK(cudaMemcpy2D(back.data(), width, to.ptr, to.pitch, width, height, cudaMemcpyDefault));
    REQUIRE(back == bytes, "rows of GPU %d came to %d otherwise", device, other);
    CHECK(cudaFree(from.ptr));
    CHECK(cudaFree(to.ptr));
  }
}

// Random kernels and copies in random streams, with the events between them that make the result certain.
struct Buffer {
  int device;
  unsigned *memory;
  Values expected;
  cudaEvent_t written;
  std::vector<cudaEvent_t> read;
};

struct Lane {
  int device;
  cudaStream_t stream;
};

static void random_program(unsigned seed) {
  Numbers numbers(seed);
  std::vector<Buffer> buffers;
  std::vector<Lane> lanes;
  std::vector<cudaEvent_t> events;
  for (int i = 0; i < 3 * devices; i++) {
    Buffer buffer = {i % devices, nullptr, begin_with(seed + i), nullptr, {}};
    buffer.memory = allocate(buffer.device, buffer.expected);
    buffers.push_back(buffer);
    lanes.push_back({i % devices, nullptr});
    CHECK(cudaStreamCreateWithFlags(&lanes[i].stream, i < devices ? cudaStreamDefault
                                                                 : cudaStreamNonBlocking));
  }
  for (int step = 0; step < 60; step++) {
    Buffer &to = buffers[numbers.next() % buffers.size()];
    Buffer &from = buffers[numbers.next() % buffers.size()];
    bool copy = numbers.next() % 2 && &to != &from;
    const Lane *lane = &lanes[numbers.next() % lanes.size()];
    while (!copy && lane->device != to.device) {
      lane = &lanes[numbers.next() % lanes.size()];
    }
    CHECK(cudaSetDevice(lane->device));
    if (to.written) {
      CHECK(cudaStreamWaitEvent(lane->stream, to.written, 0));
    }
    for (cudaEvent_t reading : to.read) {
      CHECK(cudaStreamWaitEvent(lane->stream, reading, 0));
    }
    if (copy && from.written) {
      CHECK(cudaStreamWaitEvent(lane->stream, from.written, 0));
    }
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    events.push_back(done);
    if (copy) {
      CHECK(cudaMemcpyPeerAsync(to.memory, to.device, from.memory, from.device, BYTES, lane->stream));
      to.expected = from.expected;
      from.read.push_back(done);
    } else {
      unsigned factor = numbers.next() | 1, addend = numbers.next();
      launch_mix(to.device, lane->stream, to.memory, factor, addend);
      mix_on_host(to.expected, factor, addend);
    }
    CHECK(cudaEventRecord(done, lane->stream));
    to.written = done;
    to.read.clear();
  }
  for (int device = 0; device < devices; device++) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceSynchronize());
  }
  for (size_t i = 0; i < buffers.size(); i++) {
    same(buffers[i].memory, buffers[i].expected, "random program", seed);
    CHECK(cudaFree(buffers[i].memory));
    CHECK(cudaStreamDestroy(lanes[i].stream));
  }
  for (cudaEvent_t event : events) {
    CHECK(cudaEventDestroy(event));
  }
}

// Managed memory is everybody's where GPUs reach each other; elsewhere it is its GPU's and the host's.
static void managed() {
  int reaches = devices > 1;
  for (int device = 1; device < devices; device++) {
    int one = 0;
    CHECK(cudaDeviceCanAccessPeer(&one, 0, device));
    reaches = reaches && one;
  }
  unsigned *shared = nullptr;
  Values expected = begin_with(400);
  for (int device = 0; device < devices; device++) {
    CHECK(cudaSetDevice(device));
    if (!shared || !reaches) {
      CHECK(cudaFree(shared));
      CHECK(cudaMallocManaged(&shared, BYTES));
      memcpy(shared, expected.data(), BYTES);
    }
    launch_mix(device, nullptr, shared, 5, device);
    CHECK(cudaDeviceSynchronize());
    mix_on_host(expected, 5, device);
    REQUIRE(memcmp(shared, expected.data(), BYTES) == 0, "managed memory on GPU %d", device);
  }
  CHECK(cudaFree(shared));
}

int main() {
  CHECK(cudaGetDeviceCount(&devices));
  alone();
  ring_of_synchronous_copies();
  ring_of_asynchronous_copies();
  memory_of_others();
  rows();
  for (unsigned seed = 1; seed <= 6; seed++) {
    random_program(seed);
  }
  managed();
  return ok("%d GPUs", devices);
}
