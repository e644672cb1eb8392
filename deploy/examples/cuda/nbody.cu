// SPDX-License-Identifier: Apache-2.0
// Gravity between all pairs of bodies, tile by tile, for some steps of time.
#include "check.h"

constexpr int BLOCK = 128;
constexpr float SOFTENING = 0.01f;

__global__ void forces(const float4 *bodies, float4 *velocities, int count, float seconds) {
  __shared__ float4 tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  float4 own = bodies[min(i, count - 1)];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < count; start += BLOCK) {
    int j = start + threadIdx.x;
    tile[threadIdx.x] = j < count ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < BLOCK; k++) {
      float4 other = tile[k];
      float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      float squared = dx * dx + dy * dy + dz * dz + SOFTENING;
      float inverse = rsqrtf(squared);
      float scale = other.w * inverse * inverse * inverse;
      ax += dx * scale;
      ay += dy * scale;
      az += dz * scale;
    }
    __syncthreads();
  }
  if (i < count) {
    float4 velocity = velocities[i];
    velocity.x += ax * seconds;
    velocity.y += ay * seconds;
    velocity.z += az * seconds;
    velocities[i] = velocity;
  }
}

__global__ void move(float4 *bodies, const float4 *velocities, int count, float seconds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    bodies[i].x += velocities[i].x * seconds;
    bodies[i].y += velocities[i].y * seconds;
    bodies[i].z += velocities[i].z * seconds;
  }
}

int main() {
  const int count = 600, steps = 3;
  const float seconds = 0.01f;
  Numbers numbers(8);
  std::vector<float4> bodies(count), velocities(count, make_float4(0, 0, 0, 0));
  for (float4 &body : bodies) {
    body.x = numbers.unit() * 2 - 1;
    body.y = numbers.unit() * 2 - 1;
    body.z = numbers.unit() * 2 - 1;
    body.w = numbers.unit() / count;
  }
  float4 *device_bodies = device_copy(bodies);
  float4 *device_velocities = device_copy(velocities);
  int blocks = (count + BLOCK - 1) / BLOCK;
  for (int i = 0; i < steps; i++) {
    forces<<<blocks, BLOCK>>>(device_bodies, device_velocities, count, seconds);
    move<<<blocks, BLOCK>>>(device_bodies, device_velocities, count, seconds);
  }
  launched();
  for (int step = 0; step < steps; step++) {
    for (int i = 0; i < count; i++) {
      double ax = 0, ay = 0, az = 0;
      for (int j = 0; j < count; j++) {
        double dx = double(bodies[j].x) - bodies[i].x;
        double dy = double(bodies[j].y) - bodies[i].y;
        double dz = double(bodies[j].z) - bodies[i].z;
        double inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
        double scale = bodies[j].w * inverse * inverse * inverse;
        ax += dx * scale;
        ay += dy * scale;
        az += dz * scale;
      }
      velocities[i].x += static_cast<float>(ax * seconds);
      velocities[i].y += static_cast<float>(ay * seconds);
      velocities[i].z += static_cast<float>(az * seconds);
    }
    for (int i = 0; i < count; i++) {
      bodies[i].x += velocities[i].x * seconds;
      bodies[i].y += velocities[i].y * seconds;
      bodies[i].z += velocities[i].z * seconds;
    }
  }
  std::vector<float4> result = host_copy(device_bodies, count);
  double worst = 0;
  for (int i = 0; i < count; i++) {
    worst = std::fmax(worst, std::fabs(double(result[i].x) - bodies[i].x));
    worst = std::fmax(worst, std::fabs(double(result[i].y) - bodies[i].y));
    worst = std::fmax(worst, std::fabs(double(result[i].z) - bodies[i].z));
  }
  REQUIRE(worst < 1e-5, "a body is %g off", worst);
  CHECK(cudaFree(device_bodies));
  CHECK(cudaFree(device_velocities));
  return ok("%d bodies, %d steps", count, steps);
}
