// SPDX-License-Identifier: Apache-2.0
// Escape-time fractal; divergent loops.

extern "C" __global__ void mandelbrot(int* out, int width, int height, double x0, double y0,
                                      double step, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  double cx = x0 + px * step, cy = y0 + py * step;
  double x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y <= 4.0) {
    double t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    n++;
  }
  out[py * width + px] = n;
}
