// SPDX-License-Identifier: Apache-2.0
// Every integer atomic, compare-and-swap loops, and a lock-free list built by many blocks.
#include "check.h"

constexpr int COUNTERS = 16;

__global__ void all(unsigned *u, int *s, unsigned long long *w, double *d, int *next, int *head) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&u[0], unsigned(i));
  atomicSub(&u[1], 3u);
  atomicMax(&u[2], unsigned(i * 7 % 1000));
  atomicMin(&u[3], unsigned(i * 11 % 1000 + 5));
  atomicAnd(&u[4], ~(1u << (i % 20)));
  atomicOr(&u[5], 1u << (i % 29));
  atomicXor(&u[6], unsigned(i));
  atomicInc(&u[7], 99u);
  atomicDec(&u[8], 49u);
  if (i == 77) {
    atomicExch(&u[9], 4711u);
  }
  atomicCAS(&u[10], unsigned(i % 2 == 0 ? 5 : 6), 6u);
  atomicMin(&s[0], -i);
  atomicMax(&s[1], i - 100000);
  atomicAdd(&w[0], 0x100000001ULL);
  atomicMax(&w[1], static_cast<unsigned long long>(i) << 33);
  // A sum of doubles through compare-and-swap on their bits; the values add up exactly.
  unsigned long long *bits = reinterpret_cast<unsigned long long *>(d);
  unsigned long long seen = *bits, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(bits, assumed, __double_as_longlong(__longlong_as_double(assumed) + 0.125));
  } while (seen != assumed);
  // Push onto a list.
  int old = *static_cast<volatile int *>(head), expected;
  do {
    expected = old;
    next[i] = expected;
    __threadfence();
    old = atomicCAS(head, expected, i);
  } while (old != expected);
}

int main() {
  const int blocks = 12, threads = 96, count = blocks * threads;
  std::vector<unsigned> u(COUNTERS, 0);
  u[3] = u[4] = 0xffffffffu;
  u[10] = 5;
  unsigned *device_u = device_copy(u);
  int *device_s = device_copy(std::vector<int>{0x7fffffff, -0x7fffffff});
  unsigned long long *device_w = device_copy(std::vector<unsigned long long>{0, 0});
  double *device_d = device_copy(std::vector<double>{0.0});
  int *next = device_copy(std::vector<int>(count, -2));
  int *head = device_copy(std::vector<int>{-1});
  all<<<blocks, threads>>>(device_u, device_s, device_w, device_d, next, head);
  launched();

  std::vector<unsigned> expected = u;
  for (int i = 0; i < count; i++) {
    expected[0] += i;
    expected[1] -= 3;
    expected[2] = std::max(expected[2], unsigned(i * 7 % 1000));
    expected[3] = std::min(expected[3], unsigned(i * 11 % 1000 + 5));
    expected[4] &= ~(1u << (i % 20));
    expected[5] |= 1u << (i % 29);
    expected[6] ^= unsigned(i);
    expected[7] = expected[7] >= 99 ? 0 : expected[7] + 1;
    expected[8] = expected[8] == 0 || expected[8] > 49 ? 49 : expected[8] - 1;
  }
  expected[9] = 4711;
  expected[10] = 6;
  require_equal(host_copy(device_u, COUNTERS), expected);
  require_equal(host_copy(device_s, 2), std::vector<int>{1 - count, count - 1 - 100000});
  require_equal(host_copy(device_w, 2), std::vector<unsigned long long>{
      0x100000001ULL * count, static_cast<unsigned long long>(count - 1) << 33});
  REQUIRE(host_copy(device_d, 1)[0] == 0.125 * count, "the doubles add up to something else");
  std::vector<int> links = host_copy(next, count);
  std::vector<bool> met(count, false);
  int length = 0;
  for (int i = host_copy(head, 1)[0]; i >= 0; i = links[i], length++) {
    REQUIRE(!met[i], "element %d is on the list twice", i);
    met[i] = true;
  }
  REQUIRE(length == count, "the list has %d elements, not %d", length, count);
  CHECK(cudaFree(device_u));
  CHECK(cudaFree(device_s));
  CHECK(cudaFree(device_w));
  CHECK(cudaFree(device_d));
  CHECK(cudaFree(next));
  CHECK(cudaFree(head));
  return ok("%d threads", count);
}
