// SPDX-License-Identifier: Apache-2.0
// Graph search: levels by a frontier that kernels refill, and connected components by labels that shrink.
#include "check.h"

#include <queue>

const int threads = 128;

// One thread a vertex of the frontier. Who finds a vertex first puts it into the next frontier.
__global__ void expand(const int *starts, const int *edges, const int *frontier, int length,
    int level, int *levels, int *next, int *next_length) {
  int i = blockIdx.x * threads + threadIdx.x;
  if (i >= length) return;
  int from = frontier[i];
  for (int e = starts[from]; e < starts[from + 1]; e++) {
    if (atomicCAS(&levels[edges[e]], -1, level) == -1) next[atomicAdd(next_length, 1)] = edges[e];
  }
}

__global__ void hook(const int *starts, const int *edges, int vertices, int *labels, int *changed) {
  int vertex = blockIdx.x * threads + threadIdx.x;
  if (vertex >= vertices) return;
  for (int e = starts[vertex]; e < starts[vertex + 1]; e++) {
    int a = labels[vertex], b = labels[edges[e]];
    if (a != b) {
      atomicMin(&labels[max(a, b)], min(a, b));
      *changed = 1;
    }
  }
}

__global__ void shorten(int *labels, int vertices) {
  int vertex = blockIdx.x * threads + threadIdx.x;
  if (vertex >= vertices) return;
  int label = labels[vertex];
  while (label != labels[label]) label = labels[label];
  labels[vertex] = label;
}

int main() {
  const int vertices = 6000;
  Numbers numbers(39);
  std::vector<std::vector<int>> neighbours(vertices);
  for (int i = 0; i < vertices * 3 / 4; i++) {
    // Vertices of like remainder only, and few edges: components, some of them deep.
    int a = int(numbers.next() % vertices), b = int(numbers.next() % vertices) / 3 * 3 + a % 3;
    b = i % 2 == 0 ? (a + 3) % vertices : b % vertices;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  std::vector<int> starts{0}, edges;
  for (const auto &list : neighbours) {
    edges.insert(edges.end(), list.begin(), list.end());
    starts.push_back(int(edges.size()));
  }
  auto search = [&](int source, std::vector<int> &levels) {
    std::queue<int> open({source});
    levels[source] = 0;
    int reached = 0;
    for (; !open.empty(); open.pop(), reached++) {
      for (int to : neighbours[open.front()]) {
        if (levels[to] < 0) {
          levels[to] = levels[open.front()] + 1;
          open.push(to);
        }
      }
    }
    return reached;
  };
  std::vector<int> best, expected_labels(vertices, -1);
  int source = 0, most = 0;
  for (int vertex = 0; vertex < vertices; vertex++) {
    if (expected_labels[vertex] >= 0) continue;
    std::vector<int> levels(vertices, -1);
    int reached = search(vertex, levels);
    for (int i = 0; i < vertices; i++) {
      if (levels[i] >= 0) expected_labels[i] = vertex;
    }
    if (reached > most) most = reached, source = vertex, best = levels;
  }

  int *d_starts = device_copy(starts), *d_edges = device_copy(edges), *frontier, *next, *length;
  std::vector<int> levels(vertices, -1);
  levels[source] = 0;
  int *d_levels = device_copy(levels);
  CHECK(cudaMalloc(&frontier, vertices * sizeof(int)));
  CHECK(cudaMalloc(&next, vertices * sizeof(int)));
  CHECK(cudaMalloc(&length, sizeof(int)));
  CHECK(cudaMemcpy(frontier, &source, sizeof source, cudaMemcpyHostToDevice));
  int level = 0;
  for (int count = 1; count > 0; std::swap(frontier, next)) {
    CHECK(cudaMemset(length, 0, sizeof(int)));
    expand<<<(count + threads - 1) / threads, threads>>>(
        d_starts, d_edges, frontier, count, ++level, d_levels, next, length);
    CHECK(cudaMemcpy(&count, length, sizeof count, cudaMemcpyDeviceToHost));
  }
  require_equal(host_copy(d_levels, vertices), best);

  std::vector<int> labels(vertices);
  for (int i = 0; i < vertices; i++) labels[i] = i;
  int *d_labels = device_copy(labels), blocks = (vertices + threads - 1) / threads;
  for (int changed = 1; changed != 0;) {
    CHECK(cudaMemset(length, 0, sizeof(int)));
    hook<<<blocks, threads>>>(d_starts, d_edges, vertices, d_labels, length);
    shorten<<<blocks, threads>>>(d_labels, vertices);
    CHECK(cudaMemcpy(&changed, length, sizeof changed, cudaMemcpyDeviceToHost));
  }
  require_equal(host_copy(d_labels, vertices), expected_labels);
  for (int *memory : {d_starts, d_edges, d_levels, d_labels, frontier, next, length}) {
    CHECK(cudaFree(memory));
  }
  return ok("%d of %d vertices in %d levels", most, vertices, level);
}
