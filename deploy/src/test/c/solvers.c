// SPDX-License-Identifier: Apache-2.0
// Calls functions of cuRAND, cuSOLVER and cuSPARSE and checks what they compute: random numbers against the same
// generator on the host, solutions by putting them in. A line for each call: its name, and "right" or what is wrong.
// Linked to the libraries and libcudart; needs no header of theirs.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *handle;
enum { XORWOW = 101, MRG32K3A = 121, MTGP32 = 141, PHILOX = 161, SOBOL32 = 201 };  // curandRngType_t
enum { UNIFORM, NORMAL, BITS };
enum { TO_DEVICE = 1, TO_HOST = 2, LOWER = 0, VECTORS = 1, NOT_TRANSPOSED = 0 };
enum { INDEX_32I = 2, R_32F = 0 };  // cusparseIndexType_t, cudaDataType

int cudaMalloc(void **, size_t), cudaMemcpy(void *, const void *, size_t, int);
int cudaDeviceSynchronize(void), cudaGetLastError(void);
int curandCreateGenerator(handle *, int), curandCreateGeneratorHost(handle *, int);
int curandSetPseudoRandomGeneratorSeed(handle, unsigned long long);
int curandGenerate(handle, unsigned int *, size_t), curandGenerateUniform(handle, float *, size_t);
int curandGenerateNormal(handle, float *, size_t, float, float);
int cusolverDnCreate(handle *);
int cusolverDnSpotrf_bufferSize(handle, int, int, float *, int, int *);
int cusolverDnSpotrf(handle, int, int, float *, int, float *, int, int *);
int cusolverDnSgetrf_bufferSize(handle, int, int, float *, int, int *);
int cusolverDnSgetrf(handle, int, int, float *, int, float *, int *, int *);
int cusolverDnSgetrs(handle, int, int, int, const float *, int, const int *, float *, int, int *);
int cusolverDnSsyevd_bufferSize(handle, int, int, int, const float *, int, const float *, int *);
int cusolverDnSsyevd(handle, int, int, int, float *, int, float *, float *, int, int *);
int cusparseCreate(handle *), cusparseCreateDnVec(handle *, int64_t, void *, int);
int cusparseCreateCsr(handle *, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
int cusparseSpMV_bufferSize(handle, int, const void *, handle, handle, const void *, handle, int, int, size_t *);
int cusparseSpMV(handle, int, const void *, handle, handle, const void *, handle, int, int, void *);

static int rightCalls, otherCalls;

static void report(const char *name, int status, double off, double tolerance) {
  int error = cudaDeviceSynchronize();
  cudaGetLastError();
  if (status == 0 && error == 0 && off <= tolerance) {
    printf("%s: right\n", name);
    rightCalls++;
  } else {
    printf("%s: status %d, error %d, off by %g\n", name, status, error, off);
    otherCalls++;
  }
}

/** Device memory with these bytes, or with none of its own. */
static void *device(const void *from, size_t bytes) {
  void *to = NULL;
  cudaMalloc(&to, bytes ? bytes : 1);
  if (from) cudaMemcpy(to, from, bytes, TO_DEVICE);
  return to;
}

/** The greater of a difference so far and another; a NaN stays. */
static double greater(double so_far, double difference) {
  difference = fabs(difference);
  return difference <= so_far ? so_far : difference;
}

static int generate(handle generator, int what, void *to, size_t count) {
  switch (what) {
    case UNIFORM: return curandGenerateUniform(generator, to, count);
    case NORMAL: return curandGenerateNormal(generator, to, count, 0, 1);
    default: return curandGenerate(generator, to, count);
  }
}

static void random_numbers(const char *name, int type, int what, double tolerance) {
  enum { COUNT = 10000 };
  static float numbers[2][COUNT];
  handle onDevice, onHost;
  int status = curandCreateGenerator(&onDevice, type);
  if (!status) status = curandCreateGeneratorHost(&onHost, type);
  if (!status && type < SOBOL32) status = curandSetPseudoRandomGeneratorSeed(onDevice, 42);
  if (!status && type < SOBOL32) status = curandSetPseudoRandomGeneratorSeed(onHost, 42);
  void *to = device(NULL, sizeof numbers[0]);
  if (!status) status = generate(onDevice, what, to, COUNT);
  if (!status) status = generate(onHost, what, numbers[0], COUNT);
  if (!status) status = cudaMemcpy(numbers[1], to, sizeof numbers[1], TO_HOST);
  double off = 0;
  for (int i = 0; i < COUNT; i++) {
    uint32_t *bits[2] = {(void *)numbers[0], (void *)numbers[1]};
    off = greater(off, what == BITS ? (double)bits[0][i] - bits[1][i] : numbers[0][i] - numbers[1][i]);
  }
  report(name, status, off, tolerance);
}

enum { ORDER = 50 };
static float matrix[ORDER * ORDER], found[ORDER * ORDER];

static void cholesky(handle solver) {
  int words = 0, *info = device(NULL, sizeof(int)), failed = -1;
  float *a = device(matrix, sizeof matrix);
  int status = cusolverDnSpotrf_bufferSize(solver, LOWER, ORDER, a, ORDER, &words);
  if (!status) status = cusolverDnSpotrf(solver, LOWER, ORDER, a, ORDER, device(NULL, 4 * (size_t)words), words, info);
  if (!status) status = cudaMemcpy(found, a, sizeof found, TO_HOST);
  if (!status) status = cudaMemcpy(&failed, info, sizeof failed, TO_HOST);
  double off = failed;
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k <= j; k++) sum += (double)found[k * ORDER + i] * found[k * ORDER + j];
      off = greater(off, sum - matrix[j * ORDER + i]);
    }
  }
  report("spotrf", status, off, 1e-5);
}

static void linear_system(handle solver) {
  float x[ORDER], sides[ORDER] = {0}, solved[ORDER];
  for (int i = 0; i < ORDER; i++) x[i] = (float)(i % 5 - 2);
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j < ORDER; j++) sides[i] += matrix[j * ORDER + i] * x[j];
  }
  int words = 0, *info = device(NULL, sizeof(int)), *pivots = device(NULL, ORDER * sizeof(int));
  float *a = device(matrix, sizeof matrix), *b = device(sides, sizeof sides);
  int status = cusolverDnSgetrf_bufferSize(solver, ORDER, ORDER, a, ORDER, &words);
  if (!status) status = cusolverDnSgetrf(solver, ORDER, ORDER, a, ORDER, device(NULL, 4 * (size_t)words), pivots, info);
  if (!status) status = cusolverDnSgetrs(solver, NOT_TRANSPOSED, ORDER, 1, a, ORDER, pivots, b, ORDER, info);
  if (!status) status = cudaMemcpy(solved, b, sizeof solved, TO_HOST);
  double off = 0;
  for (int i = 0; i < ORDER; i++) off = greater(off, solved[i] - x[i]);
  report("sgetrf", status, off, 1e-4);
}

static void eigenvectors(handle solver) {
  int words = 0, *info = device(NULL, sizeof(int));
  float *a = device(matrix, sizeof matrix), *values = device(NULL, ORDER * sizeof(float)), eigen[ORDER];
  int status = cusolverDnSsyevd_bufferSize(solver, VECTORS, LOWER, ORDER, a, ORDER, values, &words);
  if (!status) {
    status = cusolverDnSsyevd(solver, VECTORS, LOWER, ORDER, a, ORDER, values, device(NULL, 4 * (size_t)words), words, info);
  }
  if (!status) status = cudaMemcpy(found, a, sizeof found, TO_HOST);
  if (!status) status = cudaMemcpy(eigen, values, sizeof eigen, TO_HOST);
  double off = 0;
  for (int v = 0; v < ORDER; v++) {
    double length = 0;
    for (int i = 0; i < ORDER; i++) {
      double sum = -(double)eigen[v] * found[v * ORDER + i];
      for (int j = 0; j < ORDER; j++) sum += (double)matrix[j * ORDER + i] * found[v * ORDER + j];
      off = greater(off, sum);
      length += (double)found[v * ORDER + i] * found[v * ORDER + i];
    }
    off = greater(off, length - 1);
  }
  report("ssyevd", status, off, 1e-3);
}

/** The product of a matrix with three diagonals and a vector. */
static void sparse(void) {
  enum { ROWS = 500 };
  static int rows[ROWS + 1], columns[3 * ROWS];
  static float values[3 * ROWS], x[ROWS], y[ROWS];
  int count = 0;
  for (int i = 0; i < ROWS; i++) {
    rows[i] = count;
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j == ROWS) continue;
      columns[count] = j;
      values[count++] = i == j ? 2 : -1;
    }
    x[i] = (float)(i * i % 11);
  }
  rows[ROWS] = count;
  handle library, a, in, out;
  float one = 1, zero = 0;
  size_t bytes = 0;
  void *result = device(NULL, sizeof y);
  int status = cusparseCreate(&library);
  if (!status) {
    status = cusparseCreateCsr(&a, ROWS, ROWS, count, device(rows, sizeof rows), device(columns, sizeof columns),
                               device(values, sizeof values), INDEX_32I, INDEX_32I, 0, R_32F);
  }
  if (!status) status = cusparseCreateDnVec(&in, ROWS, device(x, sizeof x), R_32F);
  if (!status) status = cusparseCreateDnVec(&out, ROWS, result, R_32F);
  if (!status) status = cusparseSpMV_bufferSize(library, NOT_TRANSPOSED, &one, a, in, &zero, out, R_32F, 0, &bytes);
  if (!status) status = cusparseSpMV(library, NOT_TRANSPOSED, &one, a, in, &zero, out, R_32F, 0, device(NULL, bytes));
  if (!status) status = cudaMemcpy(y, result, sizeof y, TO_HOST);
  double off = 0;
  for (int i = 0; i < ROWS; i++) {
    off = greater(off, y[i] - (2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < ROWS ? x[i + 1] : 0)));
  }
  report("spmv", status, off, 0);
}

int main(void) {
  setbuf(stdout, NULL);
  random_numbers("xorwow", XORWOW, UNIFORM, 0);
  random_numbers("xorwow-normal", XORWOW, NORMAL, 1e-5);
  random_numbers("philox", PHILOX, UNIFORM, 0);
  random_numbers("philox-normal", PHILOX, NORMAL, 1e-5);
  random_numbers("mrg32k3a", MRG32K3A, UNIFORM, 0);
  random_numbers("mtgp32", MTGP32, UNIFORM, 0);
  random_numbers("sobol32", SOBOL32, BITS, 0);
  for (int i = 0; i < ORDER; i++) {
    for (int j = 0; j < ORDER; j++) matrix[i * ORDER + j] = 1.0f / (float)(1 + abs(i - j)) + (i == j ? 2.0f : 0.0f);
  }
  handle solver;
  int status = cusolverDnCreate(&solver);
  if (status) {
    report("cusolverDnCreate", status, 0, 0);
  } else {
    cholesky(solver);
    linear_system(solver);
    eigenvectors(solver);
  }
  sparse();
  printf("solvers: %d right, %d not\n", rightCalls, otherCalls);
  return 0;
}
