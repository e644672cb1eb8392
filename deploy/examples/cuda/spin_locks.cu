// SPDX-License-Identifier: Apache-2.0
// Locks that threads of one warp spin on: by compare and swap, by ticket, and a chain of turns through the warp.
#include "check.h"

struct Account {
  int lock;
  int balance, entries;
};

// The holder is in the same warp as those who spin: each thread must make progress on its own.
__global__ void transfer(Account *accounts, int count, const int2 *transfers, int each) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < each; i++) {
    int2 pair = transfers[thread * each + i];
    // Always the lower one first, so that no two wait for each other.
    Account *first = &accounts[min(pair.x, pair.y)], *second = &accounts[max(pair.x, pair.y)];
    while (atomicCAS(&first->lock, 0, 1) != 0) {
    }
    while (atomicCAS(&second->lock, 0, 1) != 0) {
    }
    __threadfence();
    auto *from = const_cast<volatile Account *>(&accounts[pair.x]);
    auto *to = const_cast<volatile Account *>(&accounts[pair.y]);
    from->balance = from->balance - i - 1;
    to->balance = to->balance + i + 1;
    from->entries = from->entries + 1;
    to->entries = to->entries + 1;
    __threadfence();
    atomicExch(&second->lock, 0);
    atomicExch(&first->lock, 0);
  }
}

__global__ void tickets(unsigned *next, volatile unsigned *serving, unsigned *order, unsigned *length) {
  unsigned mine = atomicAdd(next, 1);
  while (*serving != mine) __nanosleep(50);
  __threadfence();
  unsigned at = *length;
  order[at] = mine;
  *length = at + 1;
  __threadfence();
  *serving = mine + 1;
}

// The last lane goes first, and each waits for the one above it: no order of a compiler's choice would do.
__global__ void chain(int *sums) {
  __shared__ volatile int turn;
  __shared__ int sum;
  if (threadIdx.x == 0) {
    turn = blockDim.x - 1;
    sum = 1;
  }
  __syncthreads();
  while (turn != threadIdx.x) {
  }
  sum = (sum * 31 + threadIdx.x) % 10007;
  __threadfence_block();
  turn = int(threadIdx.x) - 1;
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

int main() {
  const int accounts = 20, threads = 64, blocks = 3, each = 10;
  Numbers numbers(47);
  std::vector<Account> start(accounts, Account{0, 1000, 0}), expected = start;
  std::vector<int2> transfers(threads * blocks * each);
  for (size_t i = 0; i < transfers.size(); i++) {
    int from = int(numbers.next() % accounts), to = int(from + 1 + numbers.next() % (accounts - 1)) % accounts;
    transfers[i] = make_int2(from, to);
    expected[from].balance -= int(i % each) + 1;
    expected[to].balance += int(i % each) + 1;
    expected[from].entries++;
    expected[to].entries++;
  }
  Account *d_accounts = device_copy(start);
  int2 *d_transfers = device_copy(transfers);
  transfer<<<blocks, threads>>>(d_accounts, accounts, d_transfers, each);
  launched();
  std::vector<Account> actual = host_copy(d_accounts, accounts);
  for (int i = 0; i < accounts; i++) {
    REQUIRE(actual[i].balance == expected[i].balance && actual[i].entries == expected[i].entries,
        "account %d has %d after %d entries, not %d after %d", i, actual[i].balance,
        actual[i].entries, expected[i].balance, expected[i].entries);
  }

  const unsigned drawn = 4 * 48;
  auto *counters = device_copy(std::vector<unsigned>{0, 0, 0});
  auto *order = device_copy(std::vector<unsigned>(drawn, 0));
  tickets<<<4, 48>>>(counters, counters + 1, order, counters + 2);
  launched();
  std::vector<unsigned> in_turn(drawn);
  for (unsigned i = 0; i < drawn; i++) in_turn[i] = i;
  require_equal(host_copy(order, drawn), in_turn);

  int *sums = device_copy(std::vector<int>(2, 0)), sum = 1;
  chain<<<2, 96>>>(sums);
  launched();
  for (int i = 95; i >= 0; i--) sum = (sum * 31 + i) % 10007;
  require_equal(host_copy(sums, 2), std::vector<int>(2, sum));
  CHECK(cudaFree(d_accounts));
  CHECK(cudaFree(d_transfers));
  CHECK(cudaFree(counters));
  CHECK(cudaFree(order));
  CHECK(cudaFree(sums));
  return ok("%zu transfers, %u tickets", transfers.size(), drawn);
}
