// SPDX-License-Identifier: Apache-2.0
// Virtual functions of objects made on the device, and functions by pointer: from tables, symbols and parameters.
#include "check.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual double area() const = 0;
  __device__ virtual int corners() const { return 0; }
};

struct Circle : Shape {
  double radius;
  __device__ explicit Circle(double r) : radius(r) {}
  __device__ double area() const override { return 3.25 * radius * radius; }
};

struct Rectangle : Shape {
  double a, b;
  __device__ Rectangle(double x, double y) : a(x), b(y) {}
  __device__ double area() const override { return a * b; }
  __device__ int corners() const override { return 4; }
};

struct Square : Rectangle {
  __device__ explicit Square(double x) : Rectangle(x, x) {}
  __device__ double area() const override { return Rectangle::area() + 0.5; }
};

// Two bases: the second's functions take a `this` that is moved.
struct Named {
  __device__ virtual int name() const = 0;
};

struct Sign : Square, Named {
  int letter;
  __device__ Sign(double x, int c) : Square(x), letter(c) {}
  __device__ int name() const override { return letter + corners(); }
};

__device__ Named *signs[64];

__global__ void make(Shape **shapes, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  switch (i % 4) {
    case 0: shapes[i] = new Circle(i); break;
    case 1: shapes[i] = new Rectangle(i, 2); break;
    case 2: shapes[i] = new Square(i); break;
    default: {
      Sign *sign = new Sign(i, 100 + i);
      shapes[i] = sign;
      if (i < 64) signs[i] = sign;
    }
  }
}

__global__ void measure(Shape *const *shapes, int count, double *areas, int *corners) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  areas[i] = shapes[i]->area();
  corners[i] = shapes[i]->corners() + (i % 4 == 3 && i < 64 ? signs[i]->name() : 0);
}

__global__ void destroy(Shape **shapes, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) delete shapes[i];
}

typedef int (*Function)(int, int);

__device__ int plus(int a, int b) { return a + b; }
__device__ int minus_twice(int a, int b) { return a - 2 * b; }
__device__ __noinline__ int power(int a, int b) {
  int result = 1;
  for (; b > 0; b--) result *= a;
  return result;
}

__device__ Function table[3] = {plus, minus_twice, power};
__device__ Function chosen = power;

__device__ int twice(Function function, int a, int b) { return function(function(a, b), b); }

__global__ void call(Function given, int *out) {
  int i = threadIdx.x;
  // The lanes of a warp call different functions.
  out[i] = table[i % 3](i % 10, i % 5) + twice(given, i, 3) + chosen(2, i % 8);
}

int main() {
  const int count = 300, blocks = (count + 63) / 64;
  Shape **shapes;
  double *areas;
  int *corners;
  CHECK(cudaMalloc(&shapes, count * sizeof *shapes));
  CHECK(cudaMalloc(&areas, count * sizeof *areas));
  CHECK(cudaMalloc(&corners, count * sizeof *corners));
  make<<<blocks, 64>>>(shapes, count);
  measure<<<blocks, 64>>>(shapes, count, areas, corners);
  destroy<<<blocks, 64>>>(shapes, count);
  launched();
  std::vector<double> expected(count);
  std::vector<int> expected_corners(count);
  for (int i = 0; i < count; i++) {
    double x = i;
    expected[i] = i % 4 == 0 ? 3.25 * x * x : i % 4 == 1 ? x * 2 : x * x + 0.5;
    expected_corners[i] = (i % 4 == 0 ? 0 : 4) + (i % 4 == 3 && i < 64 ? 104 + i : 0);
  }
  require_equal(host_copy(areas, count), expected);
  require_equal(host_copy(corners, count), expected_corners);

  Function given;
  CHECK(cudaMemcpyFromSymbol(&given, table, sizeof given, sizeof given));
  call<<<1, 96>>>(given, corners);
  launched();
  std::vector<int> results(96);
  for (int i = 0; i < 96; i++) {
    int a = i % 10, b = i % 5, raised = 1;
    for (int k = 0; k < b; k++) raised *= a;
    int first = i % 3 == 0 ? a + b : i % 3 == 1 ? a - 2 * b : raised;
    results[i] = first + (i - 12) + (1 << i % 8);
  }
  require_equal(host_copy(corners, 96), results);
  CHECK(cudaFree(shapes));
  CHECK(cudaFree(areas));
  CHECK(cudaFree(corners));
  return ok("%d objects of four classes", count);
}
