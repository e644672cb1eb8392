// SPDX-License-Identifier: Apache-2.0
// A search tree of nodes that the kernel allocates, hung in by compare and swap, walked and freed by later kernels.
#include "check.h"

#include <algorithm>
#include <set>

struct Node {
  int key;
  int times;
  Node *child[2];
};

__device__ Node *root;

__global__ void insert(const int *keys, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    Node *made = static_cast<Node *>(malloc(sizeof(Node)));
    if (made == nullptr) {
      __trap();
    }
    *made = Node{keys[i], 1, {nullptr, nullptr}};
    __threadfence();
    Node **place = &root;
    while (true) {
      auto *word = reinterpret_cast<unsigned long long *>(place);
      Node *there = reinterpret_cast<Node *>(
          atomicCAS(word, 0ull, reinterpret_cast<unsigned long long>(made)));
      if (there == nullptr) break;
      if (there->key == keys[i]) {
        atomicAdd(&there->times, 1);
        free(made);
        break;
      }
      place = &there->child[keys[i] > there->key];
    }
  }
}

// In the order of keys, by a stack of its own.
__global__ void walk(int2 *out, int *length, int *depth) {
  Node *stack[128];
  int height = 0, count = 0, deepest = 0;
  for (Node *node = root; node != nullptr || height > 0;) {
    if (node != nullptr) {
      stack[height++] = node;
      deepest = max(deepest, height);
      node = node->child[0];
    } else {
      node = stack[--height];
      out[count++] = make_int2(node->key, node->times);
      node = node->child[1];
    }
  }
  *length = count;
  *depth = deepest;
}

__device__ int free_below(Node *node) {
  if (node == nullptr) return 0;
  int count = 1 + free_below(node->child[0]) + free_below(node->child[1]);
  free(node);
  return count;
}

__global__ void free_all(int *freed) {
  *freed = free_below(root);
  root = nullptr;
}

int main() {
  const int count = 4000;
  Numbers numbers(48);
  std::vector<int> keys(count);
  std::multiset<int> expected;
  for (int &key : keys) {
    key = int(numbers.next() % 3000);
    expected.insert(key);
  }
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
  int *d_keys = device_copy(keys), *numbers_out;
  int2 *out;
  CHECK(cudaMalloc(&out, count * sizeof(int2)));
  CHECK(cudaMalloc(&numbers_out, 3 * sizeof(int)));
  insert<<<8, 64>>>(d_keys, count);
  walk<<<1, 1>>>(out, numbers_out, numbers_out + 1);
  free_all<<<1, 1>>>(numbers_out + 2);
  launched();
  std::vector<int> counts = host_copy(numbers_out, 3);
  std::vector<int2> nodes = host_copy(out, counts[0]);
  size_t place = 0;
  for (auto key = expected.begin(); key != expected.end(); key = expected.upper_bound(*key), place++) {
    REQUIRE(place < nodes.size() && nodes[place].x == *key &&
            nodes[place].y == int(expected.count(*key)),
        "node %zu is not %d, %zu times", place, *key, expected.count(*key));
  }
  REQUIRE(place == nodes.size() && counts[2] == counts[0], "%zu of %d nodes, %d freed", place,
      counts[0], counts[2]);
  CHECK(cudaFree(d_keys));
  CHECK(cudaFree(out));
  CHECK(cudaFree(numbers_out));
  return ok("%d nodes, %d deep", counts[0], counts[1]);
}
