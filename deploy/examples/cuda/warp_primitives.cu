// SPDX-License-Identifier: Apache-2.0
// Votes, all four shuffles with widths, ballots in divergent code, and bit operations of a lane.
#include "check.h"

constexpr int RESULTS = 20;

__global__ void primitives(const unsigned *input, unsigned *output) {
  int thread = threadIdx.x + blockDim.x * threadIdx.y;
  int lane = thread % 32;
  unsigned x = input[blockIdx.x * 64 + thread];
  unsigned r[RESULTS];
  r[0] = __ballot_sync(0xffffffffu, x & 1);
  r[1] = __any_sync(0xffffffffu, x == 0);
  r[2] = __all_sync(0xffffffffu, x != 0);
  r[3] = __shfl_sync(0xffffffffu, x, (lane * 7) % 32);
  r[4] = __shfl_up_sync(0xffffffffu, x, 3);
  r[5] = __shfl_down_sync(0xffffffffu, x, 5);
  r[6] = __shfl_xor_sync(0xffffffffu, x, 21);
  r[7] = __shfl_sync(0xffffffffu, x, 2, 8);
  r[8] = __shfl_up_sync(0xffffffffu, x, 1, 4);
  r[9] = __shfl_down_sync(0xffffffffu, x, 9, 16);
  r[10] = __popc(x);
  r[11] = __clz(x);
  r[12] = __ffs(x);
  r[13] = __brev(x);
  r[14] = __byte_perm(x, 0x12345678, 0x5142);
  r[15] = __funnelshift_l(x, 0x9abcdef0, 13);
  r[16] = __umulhi(x, 0xdeadbeef);
  r[17] = __mul24(x, 77);
  unsigned odd = 0;
  if (lane % 2 == 1) {
    odd = __ballot_sync(0xaaaaaaaau, x & 4) + __shfl_xor_sync(0xaaaaaaaau, x, 2);
  }
  r[18] = odd;
  double wide = __shfl_down_sync(0xffffffffu, double(x) * 0.5, 1);
  r[19] = static_cast<unsigned>(wide * 2);
  for (int i = 0; i < RESULTS; i++) {
    output[(blockIdx.x * 64 + thread) * RESULTS + i] = r[i];
  }
}

static unsigned reversed(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; i++) {
    result |= (x >> i & 1) << (31 - i);
  }
  return result;
}

static int at(int lane, int target, int width, bool in_range) {
  return in_range && target / width == lane / width && target >= 0 && target < 32 ? target : lane;
}

static void expect_lane(const unsigned *warp, int lane, unsigned *r) {
  unsigned x = warp[lane];
  unsigned ballot = 0, fours = 0, any = 0, all = 1;
  for (int i = 0; i < 32; i++) {
    ballot |= (warp[i] & 1) << i;
    fours |= i % 2 == 1 ? (warp[i] >> 2 & 1) << i : 0;
    any |= warp[i] == 0;
    all &= warp[i] != 0;
  }
  r[0] = ballot;
  r[1] = any;
  r[2] = all;
  r[3] = warp[lane * 7 % 32];
  r[4] = warp[at(lane, lane - 3, 32, lane >= 3)];
  r[5] = warp[at(lane, lane + 5, 32, lane + 5 < 32)];
  r[6] = warp[lane ^ 21];
  r[7] = warp[lane / 8 * 8 + 2];
  r[8] = warp[at(lane, lane - 1, 4, lane % 4 >= 1)];
  r[9] = warp[at(lane, lane + 9, 16, lane % 16 + 9 < 16)];
  r[10] = __builtin_popcount(x);
  r[11] = x == 0 ? 32 : __builtin_clz(x);
  r[12] = x == 0 ? 0 : __builtin_ctz(x) + 1;
  r[13] = reversed(x);
  // Selector 0x5142 over the eight bytes of (x, 0x12345678): bytes 2, 4, 1, 5.
  r[14] = (x >> 16 & 0xff) | 0x78u << 8 | (x >> 8 & 0xff) << 16 | 0x56u << 24;
  r[15] = 0x9abcdef0u << 13 | x >> 19;
  r[16] = static_cast<unsigned>(static_cast<uint64_t>(x) * 0xdeadbeefu >> 32);
  r[17] = static_cast<unsigned>((static_cast<int>(x << 8) >> 8) * 77LL);
  r[18] = lane % 2 == 1 ? fours + warp[lane ^ 2] : 0;
  r[19] = warp[at(lane, lane + 1, 32, lane + 1 < 32)];
}

int main() {
  const int blocks = 4;
  Numbers numbers(10);
  std::vector<unsigned> input(blocks * 64);
  for (unsigned &x : input) {
    x = numbers.next() >> numbers.next() % 28;
  }
  input[40] = 0;
  unsigned *device_input = device_copy(input);
  unsigned *output;
  CHECK(cudaMalloc(&output, input.size() * RESULTS * sizeof(unsigned)));
  primitives<<<blocks, dim3(16, 4)>>>(device_input, output);
  launched();
  std::vector<unsigned> actual = host_copy(output, input.size() * RESULTS);
  for (size_t i = 0; i < input.size(); i++) {
    unsigned expected[RESULTS];
    expect_lane(&input[i / 32 * 32], i % 32, expected);
    for (int k = 0; k < RESULTS; k++) {
      REQUIRE(actual[i * RESULTS + k] == expected[k], "result %d of thread %zu is %x, not %x", k, i,
          actual[i * RESULTS + k], expected[k]);
    }
  }
  CHECK(cudaFree(device_input));
  CHECK(cudaFree(output));
  return ok("%d operations in %zu threads", RESULTS, input.size());
}
