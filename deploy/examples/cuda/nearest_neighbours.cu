// SPDX-License-Identifier: Apache-2.0
// The k nearest of many points to each query: points in tiles, the best so far in each thread's own array.
#include "check.h"

#include <algorithm>

const int k = 8, threads = 64;

struct Near {
  float distance;
  int point;
};

__host__ __device__ inline bool closer(const Near &a, const Near &b) {
  return a.distance < b.distance || (a.distance == b.distance && a.point < b.point);
}

__global__ void search(const float4 *points, int count, const float4 *queries, Near *out) {
  __shared__ float4 tile[threads];
  int query = blockIdx.x * threads + threadIdx.x;
  float4 q = queries[query];
  Near best[k];
  for (int i = 0; i < k; i++) best[i] = {__int_as_float(0x7f800000), -1};
  for (int base = 0; base < count; base += threads) {
    int length = min(threads, count - base);
    if (threadIdx.x < length) tile[threadIdx.x] = points[base + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < length; i++) {
      float x = tile[i].x - q.x, y = tile[i].y - q.y, z = tile[i].z - q.z, w = tile[i].w - q.w;
      // No fused multiplications, so that the CPU finds the same distances.
      float distance = __fadd_rn(__fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)),
          __fadd_rn(__fmul_rn(z, z), __fmul_rn(w, w)));
      Near candidate = {distance, base + i};
      if (closer(candidate, best[k - 1])) {
        int at = k - 1;
        for (; at > 0 && closer(candidate, best[at - 1]); at--) best[at] = best[at - 1];
        best[at] = candidate;
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < k; i++) out[query * k + i] = best[i];
}

int main() {
  const int count = 3000, queries = 2 * threads;
  Numbers numbers(38);
  std::vector<float4> points(count), asked(queries);
  auto random_point = [&] {
    // Coarse coordinates, so that equal distances occur.
    auto coordinate = [&] { return float(numbers.next() % 64) / 4; };
    float x = coordinate(), y = coordinate(), z = coordinate();
    return make_float4(x, y, z, coordinate());
  };
  for (float4 &point : points) point = random_point();
  for (float4 &point : asked) point = random_point();
  float4 *device_points = device_copy(points), *device_queries = device_copy(asked);
  Near *out;
  CHECK(cudaMalloc(&out, queries * k * sizeof(Near)));
  search<<<queries / threads, threads>>>(device_points, count, device_queries, out);
  launched();
  std::vector<Near> found = host_copy(out, queries * k), all(count);
  for (int q = 0; q < queries; q++) {
    for (int i = 0; i < count; i++) {
      float x = points[i].x - asked[q].x, y = points[i].y - asked[q].y;
      float z = points[i].z - asked[q].z, w = points[i].w - asked[q].w;
      all[i] = {x * x + y * y + (z * z + w * w), i};
    }
    std::partial_sort(all.begin(), all.begin() + k, all.end(), closer);
    for (int i = 0; i < k; i++) {
      Near actual = found[q * k + i];
      REQUIRE(actual.point == all[i].point && actual.distance == all[i].distance,
          "neighbour %d of query %d is %d at %g, not %d at %g", i, q, actual.point, actual.distance,
          all[i].point, all[i].distance);
    }
  }
  CHECK(cudaFree(device_points));
  CHECK(cudaFree(device_queries));
  CHECK(cudaFree(out));
  return ok("%d of %d points for %d queries", k, count, queries);
}
