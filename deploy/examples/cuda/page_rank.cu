// SPDX-License-Identifier: Apache-2.0
// PageRank by iteration to a fixed point: dead ends give to all, convergence is decided on the device's sums.
#include "check.h"

const int threads = 128;
const double damping = 0.85;

__device__ void add_to(double *total, double value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}

__global__ void sum_dead_ends(const double *ranks, const int *out_degrees, int pages, double *sum) {
  int page = blockIdx.x * threads + threadIdx.x;
  add_to(sum, page < pages && out_degrees[page] == 0 ? ranks[page] : 0);
}

// Pulls from the pages that link here.
__global__ void iterate(const int *starts, const int *sources, const int *out_degrees, int pages,
    const double *ranks, const double *dead, double *new_ranks, double *change) {
  int page = blockIdx.x * threads + threadIdx.x;
  double moved = 0;
  if (page < pages) {
    double sum = *dead / pages;
    for (int i = starts[page]; i < starts[page + 1]; i++) {
      sum += ranks[sources[i]] / out_degrees[sources[i]];
    }
    new_ranks[page] = (1 - damping) / pages + damping * sum;
    moved = fabs(new_ranks[page] - ranks[page]);
  }
  add_to(change, moved);
}

int main() {
  const int pages = 2500;
  Numbers numbers(40);
  std::vector<std::vector<int>> links_to(pages);
  std::vector<int> out_degrees(pages), starts{0}, sources;
  for (int page = 0; page < pages; page++) {
    int links = page % 9 == 0 ? 0 : int(numbers.next() % 12);
    for (int i = 0; i < links; i++) {
      // Low numbers are popular.
      int to = int(numbers.unit() * numbers.unit() * numbers.unit() * pages);
      links_to[to].push_back(page);
      out_degrees[page]++;
    }
  }
  for (const auto &list : links_to) {
    sources.insert(sources.end(), list.begin(), list.end());
    starts.push_back(int(sources.size()));
  }
  std::vector<double> ranks(pages, 1.0 / pages), expected = ranks;
  int *d_starts = device_copy(starts), *d_sources = device_copy(sources);
  int *d_degrees = device_copy(out_degrees), blocks = (pages + threads - 1) / threads, turns = 0;
  double *d_ranks = device_copy(ranks), *d_next = device_copy(ranks), *sums;
  CHECK(cudaMalloc(&sums, 2 * sizeof(double)));
  for (double change = 1; change > 1e-12; turns++) {
    REQUIRE(turns < 200, "no fixed point after %d turns", turns);
    CHECK(cudaMemset(sums, 0, 2 * sizeof(double)));
    sum_dead_ends<<<blocks, threads>>>(d_ranks, d_degrees, pages, sums);
    iterate<<<blocks, threads>>>(
        d_starts, d_sources, d_degrees, pages, d_ranks, sums, d_next, sums + 1);
    launched();
    std::swap(d_ranks, d_next);
    change = host_copy(sums + 1, 1)[0];
  }
  for (int turn = 0; turn < turns; turn++) {
    double dead = 0;
    for (int page = 0; page < pages; page++) dead += out_degrees[page] == 0 ? expected[page] : 0;
    std::vector<double> next(pages);
    for (int page = 0; page < pages; page++) {
      double sum = dead / pages;
      for (int from : links_to[page]) sum += expected[from] / out_degrees[from];
      next[page] = (1 - damping) / pages + damping * sum;
    }
    expected = next;
  }
  ranks = host_copy(d_ranks, pages);
  double total = 0;
  for (int page = 0; page < pages; page++) {
    REQUIRE(std::fabs(ranks[page] - expected[page]) < 1e-12 * expected[page],
        "page %d has rank %.17g, not %.17g", page, ranks[page], expected[page]);
    total += ranks[page];
  }
  REQUIRE(std::fabs(total - 1) < 1e-10, "the ranks add up to %.17g", total);
  for (void *memory : {static_cast<void *>(d_starts), static_cast<void *>(d_sources),
           static_cast<void *>(d_degrees), static_cast<void *>(d_ranks),
           static_cast<void *>(d_next), static_cast<void *>(sums)}) {
    CHECK(cudaFree(memory));
  }
  return ok("%d pages, %d turns", pages, turns);
}
