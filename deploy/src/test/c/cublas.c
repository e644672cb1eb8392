// SPDX-License-Identifier: Apache-2.0
// Calls functions of cuBLAS and cuBLASLt and compares what they compute with plain C. A line for each call: its name, and
// "right", "wrong" or the status that it gave. Linked to libcublas, libcublasLt and libcudart; needs no header of theirs.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 };     // cudaDataType
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_TF32 = 77 };  // cublasComputeType_t
enum { N = 0, T = 1, LOWER = 0, LEFT = 0, NON_UNIT = 0 };
enum { TO_DEVICE = 1, TO_HOST = 2, ALGORITHM_DEFAULT = -1 };

int cudaMalloc(void **, size_t), cudaFree(void *), cudaMemcpy(void *, const void *, size_t, int);
int cudaDeviceSynchronize(void), cudaGetLastError(void);
int cublasCreate_v2(handle *), cublasDestroy_v2(handle);
int cublasSaxpy_v2(handle, int, const float *, const float *, int, float *, int);
int cublasSscal_v2(handle, int, const float *, float *, int);
int cublasSdot_v2(handle, int, const float *, int, const float *, int, float *);
int cublasSnrm2_v2(handle, int, const float *, int, float *);
int cublasSasum_v2(handle, int, const float *, int, float *);
int cublasIsamax_v2(handle, int, const float *, int, int *);
int cublasSger_v2(handle, int, int, const float *, const float *, int, const float *, int, float *, int);
int cublasSgemv_v2(handle, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
int cublasDgemv_v2(handle, int, int, int, const double *, const double *, int, const double *, int, const double *, double *, int);
int cublasSgemm_v2(handle, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *,
                   float *, int);
int cublasDgemm_v2(handle, int, int, int, int, int, const double *, const double *, int, const double *, int,
                   const double *, double *, int);
int cublasStrsm_v2(handle, int, int, int, int, int, int, const float *, const float *, int, float *, int);
int cublasSgemmBatched(handle, int, int, int, int, int, const float *, const float *const *, int, const float *const *,
                       int, const float *, float *const *, int, int);
int cublasSgemmStridedBatched(handle, int, int, int, int, int, const float *, const float *, int, long long,
                              const float *, int, long long, const float *, float *, int, long long, int);
int cublasGemmEx(handle, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                 const void *, void *, int, int, int, int);
int cublasLtCreate(handle *), cublasLtDestroy(handle);
int cublasLtMatmulDescCreate(handle *, int, int), cublasLtMatmulDescDestroy(handle);
int cublasLtMatrixLayoutCreate(handle *, int, uint64_t, uint64_t, int64_t), cublasLtMatrixLayoutDestroy(handle);
int cublasLtMatmul(handle, handle, const void *, const void *, handle, const void *, handle, const void *, const void *,
                   handle, void *, handle, const void *, void *, size_t, void *);

static handle blas;
static int wanted;
static char **names;
static int rightCalls, otherCalls;
static int copyError;  // of reading the last result

/** Returns whether to try a call: the arguments name the calls; without arguments, all are tried. */
static int asked(const char *name) {
  for (int i = 1; i < wanted; i++) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return wanted < 2;
}

/** Prints the result of a call: its status, or the greatest error of a value. */
static void report(const char *name, int status, double off, double tolerance) {
  int error = copyError ? copyError : cudaDeviceSynchronize();
  cudaGetLastError();
  copyError = 0;
  if (status == 0 && error == 0 && off <= tolerance) {
    printf("%s: right\n", name);
    rightCalls++;
    return;
  }
  otherCalls++;
  if (status != 0) {
    printf("%s: status %d\n", name, status);
  } else if (error != 0) {
    printf("%s: error %d\n", name, error);
  } else {
    printf("%s: wrong by %g\n", name, off);
  }
}

static size_t element_bytes(int type) {
  switch (type) {
    case R_64F: return 8;
    case R_32F: case R_32I: return 4;
    case R_8I: return 1;
    default: return 2;
  }
}

static void write_element(void *values, int type, size_t i, double value) {
  float single = (float)value;
  uint32_t bits;
  switch (type) {
    case R_64F: ((double *)values)[i] = value; break;
    case R_32F: ((float *)values)[i] = single; break;
    case R_32I: ((int32_t *)values)[i] = (int32_t)value; break;
    case R_8I: ((int8_t *)values)[i] = (int8_t)value; break;
    case R_16F: ((_Float16 *)values)[i] = (_Float16)value; break;
    default:
      memcpy(&bits, &single, sizeof bits);
      ((uint16_t *)values)[i] = (uint16_t)(bits >> 16);
  }
}

static double read_element(const void *values, int type, size_t i) {
  uint32_t bits;
  float single;
  switch (type) {
    case R_64F: return ((const double *)values)[i];
    case R_32F: return ((const float *)values)[i];
    case R_32I: return ((const int32_t *)values)[i];
    case R_8I: return ((const int8_t *)values)[i];
    case R_16F: return (double)((const _Float16 *)values)[i];
    default:
      bits = (uint32_t)((const uint16_t *)values)[i] << 16;
      memcpy(&single, &bits, sizeof single);
      return single;
  }
}

/** Values of a type on both sides. */
struct array {
  int type;
  size_t count;
  double *host;
  void *device;
};

/** Small whole numbers (whole) or numbers in [-1, 1) with few bits, so that every type holds them. */
static struct array array_of(int type, size_t count, int seed, int whole) {
  struct array a = {type, count, malloc(count * sizeof(double)), NULL};
  void *raw = malloc(count * element_bytes(type));
  uint32_t state = (uint32_t)seed * 2654435761u + 1;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    int number = (int)(state >> 28) - 8;
    a.host[i] = whole ? number : number / 8.0;
    write_element(raw, type, i, a.host[i]);
  }
  cudaMalloc(&a.device, count * element_bytes(type));
  cudaMemcpy(a.device, raw, count * element_bytes(type), TO_DEVICE);
  free(raw);
  return a;
}

/** Returns the greatest difference between the values on the device and the expected ones. */
static double off(const struct array *a, const double *expected) {
  void *raw = malloc(a->count * element_bytes(a->type));
  memset(raw, 0x77, a->count * element_bytes(a->type));
  copyError = cudaMemcpy(raw, a->device, a->count * element_bytes(a->type), TO_HOST);
  double greatest = 0;
  for (size_t i = 0; i < a->count; i++) {
    double difference = fabs(read_element(raw, a->type, i) - expected[i]);
    if (!(difference <= greatest)) greatest = difference;
  }
  free(raw);
  return greatest;
}

static void array_free(struct array *a) {
  free(a->host);
  cudaFree(a->device);
}

static double *product(const struct array *a, const struct array *b, int ta, int tb, int m, int n, int k,
                       size_t offsetA, size_t offsetB) {
  double *c = malloc((size_t)m * (size_t)n * sizeof *c);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) {
      double sum = 0;
      for (int l = 0; l < k; l++) {
        sum += a->host[offsetA + (size_t)(ta ? i * k + l : l * m + i)] * b->host[offsetB + (size_t)(tb ? l * n + j : j * k + l)];
      }
      c[(size_t)j * (size_t)m + (size_t)i] = sum;
    }
  }
  return c;
}

static void vectors(void) {
  enum { COUNT = 3001 };
  struct array x = array_of(R_32F, COUNT, 1, 0), y = array_of(R_32F, COUNT, 2, 0);
  float two = 2, answer = 0;
  double dot = 0, squares = 0, sum = 0, *expected = malloc(COUNT * sizeof(double));
  int greatest = 0, index = -1;
  for (int i = 0; i < COUNT; i++) {
    dot += x.host[i] * y.host[i];
    squares += x.host[i] * x.host[i];
    sum += fabs(x.host[i]);
    if (fabs(x.host[i]) > fabs(x.host[greatest])) greatest = i;
  }
  int status;
  if (asked("sdot")) {
    status = cublasSdot_v2(blas, COUNT, x.device, 1, y.device, 1, &answer);
    report("sdot", status, fabs(answer - dot), 1e-3);
  }
  if (asked("snrm2")) {
    status = cublasSnrm2_v2(blas, COUNT, x.device, 1, &answer);
    report("snrm2", status, fabs(answer - sqrt(squares)), 1e-4);
  }
  if (asked("sasum")) {
    status = cublasSasum_v2(blas, COUNT, x.device, 1, &answer);
    report("sasum", status, fabs(answer - sum), 1e-3);
  }
  if (asked("isamax")) {
    status = cublasIsamax_v2(blas, COUNT, x.device, 1, &index);
    report("isamax", status, abs(index - 1 - greatest), 0);
  }
  if (asked("saxpy")) {
    for (int i = 0; i < COUNT; i++) expected[i] = y.host[i] += 2 * x.host[i];
    status = cublasSaxpy_v2(blas, COUNT, &two, x.device, 1, y.device, 1);
    report("saxpy", status, off(&y, expected), 0);
  }
  if (asked("sscal")) {
    for (int i = 0; i < COUNT; i++) expected[i] = 2 * y.host[i];
    status = cublasSscal_v2(blas, COUNT, &two, y.device, 1);
    report("sscal", status, off(&y, expected), 0);
  }
  free(expected);
  array_free(&x);
  array_free(&y);
}

static void gemv(const char *name, int type, int trans, int rows, int columns) {
  if (!asked(name)) return;
  int in = trans ? rows : columns, out = trans ? columns : rows;
  struct array a = array_of(type, (size_t)rows * (size_t)columns, 3, 0), x = array_of(type, (size_t)in, 4, 0),
               y = array_of(type, (size_t)out, 5, 0);
  for (int i = 0; i < out; i++) {
    double sum = 0.5 * y.host[i];
    for (int k = 0; k < in; k++) sum += a.host[trans ? i * rows + k : k * rows + i] * x.host[k];
    y.host[i] = sum;
  }
  float one = 1, half = 0.5;
  double wideOne = 1, wideHalf = 0.5;
  int status = type == R_32F ? cublasSgemv_v2(blas, trans, rows, columns, &one, a.device, rows, x.device, 1, &half, y.device, 1)
                             : cublasDgemv_v2(blas, trans, rows, columns, &wideOne, a.device, rows, x.device, 1, &wideHalf, y.device, 1);
  report(name, status, off(&y, y.host), 1e-4);
  array_free(&a), array_free(&x), array_free(&y);
}

static void ger(void) {
  enum { ROWS = 70, COLUMNS = 45 };
  if (!asked("sger")) return;
  struct array a = array_of(R_32F, ROWS * COLUMNS, 6, 0), x = array_of(R_32F, ROWS, 7, 0), y = array_of(R_32F, COLUMNS, 8, 0);
  float two = 2;
  for (int j = 0; j < COLUMNS; j++) {
    for (int i = 0; i < ROWS; i++) a.host[j * ROWS + i] += 2 * x.host[i] * y.host[j];
  }
  int status = cublasSger_v2(blas, ROWS, COLUMNS, &two, x.device, 1, y.device, 1, a.device, ROWS);
  report("sger", status, off(&a, a.host), 1e-6);
  array_free(&a), array_free(&x), array_free(&y);
}

/** A triangular system whose solution is known. */
static void trsm(void) {
  enum { ORDER = 40, SIDES = 9 };
  if (!asked("strsm")) return;
  struct array a = array_of(R_32F, ORDER * ORDER, 9, 0), x = array_of(R_32F, ORDER * SIDES, 10, 0),
               b = array_of(R_32F, ORDER * SIDES, 11, 0);
  float *raw = malloc(ORDER * ORDER * sizeof *raw), *sides = malloc(ORDER * SIDES * sizeof *sides), one = 1;
  for (int i = 0; i < ORDER * ORDER; i++) raw[i] = (float)(a.host[i] = i % (ORDER + 1) == 0 ? 4 : a.host[i] / 8);
  for (int j = 0; j < SIDES; j++) {
    for (int i = 0; i < ORDER; i++) {
      double sum = 0;
      for (int k = 0; k <= i; k++) sum += a.host[k * ORDER + i] * x.host[j * ORDER + k];
      sides[j * ORDER + i] = (float)sum;
    }
  }
  cudaMemcpy(a.device, raw, ORDER * ORDER * sizeof *raw, TO_DEVICE);
  cudaMemcpy(b.device, sides, ORDER * SIDES * sizeof *sides, TO_DEVICE);
  int status = cublasStrsm_v2(blas, LEFT, LOWER, N, NON_UNIT, ORDER, SIDES, &one, a.device, ORDER, b.device, ORDER);
  report("strsm", status, off(&b, x.host), 1e-4);
  free(raw), free(sides);
  array_free(&a), array_free(&x), array_free(&b);
}

static void gemm(const char *name, int type, int ta, int tb, int m, int n, int k) {
  if (!asked(name)) return;
  struct array a = array_of(type, (size_t)m * (size_t)k, 12, 0), b = array_of(type, (size_t)k * (size_t)n, 13, 0),
               c = array_of(type, (size_t)m * (size_t)n, 14, 0);
  double *expected = product(&a, &b, ta, tb, m, n, k, 0, 0);
  float one = 1, zero = 0;
  double wideOne = 1, wideZero = 0;
  int lda = ta ? k : m, ldb = tb ? n : k;
  int status = type == R_32F ? cublasSgemm_v2(blas, ta, tb, m, n, k, &one, a.device, lda, b.device, ldb, &zero, c.device, m)
                             : cublasDgemm_v2(blas, ta, tb, m, n, k, &wideOne, a.device, lda, b.device, ldb, &wideZero, c.device, m);
  report(name, status, off(&c, expected), 1e-3);
  free(expected);
  array_free(&a), array_free(&b), array_free(&c);
}

static void gemm_ex(const char *name, int type, int result, int compute, int ta, int m, int n, int k, double tolerance) {
  if (!asked(name)) return;
  struct array a = array_of(type, (size_t)m * (size_t)k, 15, type == R_8I), b = array_of(type, (size_t)k * (size_t)n, 16, type == R_8I),
               c = array_of(result, (size_t)m * (size_t)n, 17, result == R_32I);
  double *expected = product(&a, &b, ta, N, m, n, k, 0, 0);
  float one = 1, zero = 0;
  int32_t wholeOne = 1, wholeZero = 0;
  int whole = compute == COMPUTE_32I;
  int status = cublasGemmEx(blas, ta, N, m, n, k, whole ? (void *)&wholeOne : &one, a.device, type, ta ? k : m, b.device, type, k,
                            whole ? (void *)&wholeZero : &zero, c.device, result, m, compute, ALGORITHM_DEFAULT);
  report(name, status, off(&c, expected), tolerance);
  free(expected);
  array_free(&a), array_free(&b), array_free(&c);
}

static void gemm_batched(const char *name, int strided) {
  enum { M = 24, COLUMNS = 20, K = 16, BATCH = 5 };
  if (!asked(name)) return;
  struct array a = array_of(R_32F, M * K * BATCH, 18, 0), b = array_of(R_32F, K * COLUMNS * BATCH, 19, 0),
               c = array_of(R_32F, M * COLUMNS * BATCH, 20, 0);
  double *expected = malloc(c.count * sizeof *expected);
  float *pointers[3][BATCH], one = 1, zero = 0;
  for (int i = 0; i < BATCH; i++) {
    double *one_product = product(&a, &b, N, N, M, COLUMNS, K, (size_t)i * M * K, (size_t)i * K * COLUMNS);
    memcpy(expected + i * M * COLUMNS, one_product, M * COLUMNS * sizeof *expected);
    free(one_product);
    pointers[0][i] = (float *)a.device + i * M * K;
    pointers[1][i] = (float *)b.device + i * K * COLUMNS;
    pointers[2][i] = (float *)c.device + i * M * COLUMNS;
  }
  int status;
  if (strided) {
    status = cublasSgemmStridedBatched(blas, N, N, M, COLUMNS, K, &one, a.device, M, M * K, b.device, K, K * COLUMNS, &zero, c.device, M,
                                       M * COLUMNS, BATCH);
  } else {
    void *device;
    cudaMalloc(&device, sizeof pointers);
    cudaMemcpy(device, pointers, sizeof pointers, TO_DEVICE);
    float **lists = device;
    status = cublasSgemmBatched(blas, N, N, M, COLUMNS, K, &one, (const float *const *)lists, M,
                                (const float *const *)(lists + BATCH), K, &zero, lists + 2 * BATCH, M, BATCH);
    cudaDeviceSynchronize();
    cudaFree(device);
  }
  report(name, status, off(&c, expected), 1e-4);
  free(expected);
  array_free(&a), array_free(&b), array_free(&c);
}

static void lt_matmul(const char *name, int type, int result, int m, int n, int k, double tolerance) {
  if (!asked(name)) return;
  struct array a = array_of(type, (size_t)m * (size_t)k, 21, 0), b = array_of(type, (size_t)k * (size_t)n, 22, 0),
               c = array_of(result, (size_t)m * (size_t)n, 23, 0);
  double *expected = product(&a, &b, N, N, m, n, k, 0, 0);
  handle lt, operation, layoutA, layoutB, layoutC;
  float one = 1, zero = 0;
  int status = cublasLtCreate(&lt);
  if (!status) status = cublasLtMatmulDescCreate(&operation, COMPUTE_32F, R_32F);
  if (!status) status = cublasLtMatrixLayoutCreate(&layoutA, type, (uint64_t)m, (uint64_t)k, m);
  if (!status) status = cublasLtMatrixLayoutCreate(&layoutB, type, (uint64_t)k, (uint64_t)n, k);
  if (!status) status = cublasLtMatrixLayoutCreate(&layoutC, result, (uint64_t)m, (uint64_t)n, m);
  if (!status) {
    status = cublasLtMatmul(lt, operation, &one, a.device, layoutA, b.device, layoutB, &zero, c.device, layoutC, c.device, layoutC,
                            NULL, NULL, 0, NULL);
    report(name, status, off(&c, expected), tolerance);
    cublasLtMatrixLayoutDestroy(layoutA), cublasLtMatrixLayoutDestroy(layoutB), cublasLtMatrixLayoutDestroy(layoutC);
    cublasLtMatmulDescDestroy(operation);
    cublasLtDestroy(lt);
  } else {
    report(name, status, 0, 0);
  }
  free(expected);
  array_free(&a), array_free(&b), array_free(&c);
}

int main(int argc, char **argv) {
  setbuf(stdout, NULL);
  wanted = argc;
  names = argv;
  int status = cublasCreate_v2(&blas);
  if (status) {
    printf("cublasCreate: status %d\n", status);
    return 1;
  }
  vectors();
  gemv("sgemv", R_32F, N, 75, 130);
  gemv("sgemv-t", R_32F, T, 75, 130);
  gemv("dgemv", R_64F, N, 75, 130);
  ger();
  trsm();
  gemm("sgemm", R_32F, N, N, 30, 30, 30);
  gemm("sgemm-tn", R_32F, T, N, 65, 33, 100);
  gemm("sgemm-nt", R_32F, N, T, 65, 33, 100);
  gemm("sgemm-large", R_32F, N, N, 160, 150, 140);
  gemm("dgemm", R_64F, N, N, 30, 30, 30);
  gemm("dgemm-large", R_64F, N, N, 96, 80, 64);
  gemm_batched("sgemm-batched", 0);
  gemm_batched("sgemm-strided", 1);
  gemm_ex("gemmex-f16", R_16F, R_16F, COMPUTE_32F, N, 64, 64, 64, 0.02);
  gemm_ex("gemmex-f16-f32", R_16F, R_32F, COMPUTE_32F, N, 128, 64, 32, 1e-3);
  gemm_ex("gemmex-bf16", R_16BF, R_16BF, COMPUTE_32F, N, 64, 64, 64, 0.2);
  gemm_ex("gemmex-bf16-f32", R_16BF, R_32F, COMPUTE_32F, T, 64, 64, 64, 1e-3);
  gemm_ex("gemmex-tf32", R_32F, R_32F, COMPUTE_TF32, N, 64, 64, 64, 1e-3);
  gemm_ex("gemmex-int8", R_8I, R_32I, COMPUTE_32I, T, 64, 64, 64, 0);
  lt_matmul("ltmatmul-f32", R_32F, R_32F, 64, 48, 32, 1e-4);
  lt_matmul("ltmatmul-f16", R_16F, R_16F, 64, 48, 32, 0.02);
  cublasDestroy_v2(blas);
  printf("cublas: %d right, %d not\n", rightCalls, otherCalls);
  return 0;
}
