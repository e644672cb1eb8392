// SPDX-License-Identifier: Apache-2.0
// Module variables with initial values and addresses of each other.

struct Node {
  int value;
  const Node* next;
};

__device__ Node last = {30, nullptr};
__device__ Node middle = {20, &last};
__device__ Node first = {10, &middle};
__constant__ short table[6] = {1, -2, 3, -4, 5, -6};
__constant__ const char* const text = "pooled";
__device__ double counter = 1.5;
__device__ int zeros[1000];
__managed__ int managed = 77;

extern "C" __global__ void walk(int* out) {
  int n = 0;
  for (const Node* node = &first; node; node = node->next) out[n++] = node->value;
  for (int i = 0; i < 6; i++) out[n++] = table[(i + threadIdx.x) % 6];
  for (int i = 0; text[i]; i++) out[n++] = text[i];
  counter += 1;
  zeros[999] = 5;
  out[n++] = zeros[3];
  managed++;
}
