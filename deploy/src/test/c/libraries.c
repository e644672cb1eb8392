// SPDX-License-Identifier: Apache-2.0
// Makes the basic calls of one of NVIDIA's libraries, and does not check what they compute. Arguments: the library's
// name here and its file. Prints "NAME: OK", or the first call that fails and its status. Needs no header of theirs.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int function();  // takes what its caller passes
typedef void *handle;

enum { R_32F = 0, COMPUTE_32F = 68, SIDE = 64, COUNT = SIDE * SIDE };

static void *library, *driver;

static function *find_in(void *where, const char *name) {
  union {
    void *symbol;
    function *function;
  } found = {dlsym(where, name)};
  if (!found.symbol) {
    printf("%s is not there\n", name);
    exit(1);
  }
  return found.function;
}

static void check(const char *name, int status) {
  if (!status) return;
  printf("%s: status %d\n", name, status);
  exit(1);
}

#define CALL(name, ...) check(#name, find_in(library, #name)(__VA_ARGS__))
#define DRIVER(name, ...) check(#name, find_in(driver, #name)(__VA_ARGS__))

static void *device_memory(size_t bytes) {
  void *memory = NULL;
  DRIVER(cuMemAlloc_v2, &memory, bytes);
  DRIVER(cuMemsetD8_v2, memory, 0, bytes);
  return memory;
}

static void finish(void) { DRIVER(cuCtxSynchronize, ); }

static void cublas(void) {
  handle blas, stream;
  float one = 1, zero = 0, dot = 0;
  float *a = device_memory(4 * COUNT), *b = device_memory(4 * COUNT), *c = device_memory(4 * COUNT);
  CALL(cublasCreate_v2, &blas);
  DRIVER(cuStreamCreate, &stream, 1);
  CALL(cublasSetStream_v2, blas, stream);
  CALL(cublasSgemm_v2, blas, 0, 1, SIDE, SIDE, SIDE, &one, a, SIDE, b, SIDE, &zero, c, SIDE);
  CALL(cublasGemmEx, blas, 0, 0, SIDE, SIDE, SIDE, &one, a, 2, SIDE, b, 2, SIDE, &zero, c, 2, SIDE, COMPUTE_32F, -1);
  CALL(cublasSgemmStridedBatched, blas, 0, 0, 8, 8, 8, &one, a, 8, 64LL, b, 8, 64LL, &zero, c, 8, 64LL, 16);
  CALL(cublasSgemv_v2, blas, 0, SIDE, SIDE, &one, a, SIDE, b, 1, &zero, c, 1);
  CALL(cublasSaxpy_v2, blas, COUNT, &one, a, 1, b, 1);
  CALL(cublasSdot_v2, blas, COUNT, a, 1, b, 1, &dot);
  finish();
  CALL(cublasDestroy_v2, blas);
  DRIVER(cuStreamDestroy_v2, stream);
}

static void cublaslt(void) {
  struct {
    uint64_t algorithm[8];
    size_t workspaceBytes;
    int status;
    float waves;
    int reserved[4];
  } found[4];
  handle lt, operation, layout, preference;
  float one = 1, zero = 0;
  size_t workspaceBytes = 4 << 20;
  int count = 0;
  float *a = device_memory(4 * COUNT), *b = device_memory(4 * COUNT), *c = device_memory(4 * COUNT);
  void *workspace = device_memory(workspaceBytes);
  CALL(cublasLtCreate, &lt);
  CALL(cublasLtMatmulDescCreate, &operation, COMPUTE_32F, R_32F);
  CALL(cublasLtMatrixLayoutCreate, &layout, R_32F, (uint64_t)SIDE, (uint64_t)SIDE, (int64_t)SIDE);
  CALL(cublasLtMatmulPreferenceCreate, &preference);
  CALL(cublasLtMatmulPreferenceSetAttribute, preference, 1, &workspaceBytes, sizeof workspaceBytes);
  CALL(cublasLtMatmulAlgoGetHeuristic, lt, operation, layout, layout, layout, layout, preference, 4, found, &count);
  for (int i = 0; i < count; i++) {
    CALL(cublasLtMatmul, lt, operation, &one, a, layout, b, layout, &zero, c, layout, c, layout, found[i].algorithm,
         workspace, workspaceBytes, (handle)NULL);
  }
  check("algorithms", count == 0);
  finish();
  CALL(cublasLtMatmulPreferenceDestroy, preference);
  CALL(cublasLtMatrixLayoutDestroy, layout);
  CALL(cublasLtMatmulDescDestroy, operation);
  CALL(cublasLtDestroy, lt);
}

static void cufft(void) {
  enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, FORWARD = -1, INVERSE = 1 };
  int line, plane, real, back;
  void *data = device_memory(8 * COUNT), *spectrum = device_memory(8 * COUNT);
  CALL(cufftPlan1d, &line, 1024, C2C, 4);
  CALL(cufftExecC2C, line, data, spectrum, FORWARD);
  CALL(cufftExecC2C, line, spectrum, data, INVERSE);
  CALL(cufftPlan2d, &plane, SIDE, SIDE, C2C);
  CALL(cufftExecC2C, plane, data, spectrum, FORWARD);
  CALL(cufftPlan1d, &real, 1000, R2C, 1);
  CALL(cufftExecR2C, real, data, spectrum);
  CALL(cufftPlan1d, &back, 1000, C2R, 1);
  CALL(cufftExecC2R, back, spectrum, data);
  finish();
  CALL(cufftDestroy, line);
  CALL(cufftDestroy, plane);
  CALL(cufftDestroy, real);
  CALL(cufftDestroy, back);
}

static void curand(void) {
  enum { DEFAULT = 100, XORWOW = 101, MRG32K3A = 121, MTGP32 = 141, PHILOX = 161, SOBOL32 = 201 };
  const int kinds[] = {DEFAULT, XORWOW, MRG32K3A, MTGP32, PHILOX};
  void *data = device_memory(8 * COUNT);
  handle generator;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    CALL(curandCreateGenerator, &generator, kinds[i]);
    CALL(curandSetPseudoRandomGeneratorSeed, generator, 42ULL);
    CALL(curandGenerate, generator, data, (size_t)COUNT);
    CALL(curandGenerateUniform, generator, data, (size_t)COUNT);
    CALL(curandDestroyGenerator, generator);
  }
  CALL(curandCreateGenerator, &generator, SOBOL32);
  CALL(curandSetQuasiRandomGeneratorDimensions, generator, 4);
  CALL(curandGenerate, generator, data, (size_t)COUNT);
  CALL(curandDestroyGenerator, generator);
  finish();
}

static void cusparse(void) {
  enum { INDEX_32 = 2, ROW_ORDER = 2 };
  int offsets[SIDE + 1], columns[SIDE];
  handle sparse, matrix, x, y, dense, product;
  float one = 1, zero = 0;
  size_t bytes = 0;
  for (int i = 0; i <= SIDE; i++) offsets[i] = i;
  for (int i = 0; i < SIDE; i++) columns[i] = SIDE - 1 - i;
  void *deviceOffsets = device_memory(sizeof offsets), *deviceColumns = device_memory(sizeof columns);
  void *values = device_memory(4 * COUNT), *result = device_memory(4 * COUNT);
  DRIVER(cuMemcpyHtoD_v2, deviceOffsets, offsets, sizeof offsets);
  DRIVER(cuMemcpyHtoD_v2, deviceColumns, columns, sizeof columns);
  CALL(cusparseCreate, &sparse);
  CALL(cusparseCreateCsr, &matrix, (int64_t)SIDE, (int64_t)SIDE, (int64_t)SIDE, deviceOffsets, deviceColumns, values,
       INDEX_32, INDEX_32, 0, R_32F);
  CALL(cusparseCreateDnVec, &x, (int64_t)SIDE, values, R_32F);
  CALL(cusparseCreateDnVec, &y, (int64_t)SIDE, result, R_32F);
  CALL(cusparseSpMV_bufferSize, sparse, 0, &one, matrix, x, &zero, y, R_32F, 0, &bytes);
  CALL(cusparseSpMV, sparse, 0, &one, matrix, x, &zero, y, R_32F, 0, device_memory(bytes + 1));
  CALL(cusparseCreateDnMat, &dense, (int64_t)SIDE, (int64_t)SIDE, (int64_t)SIDE, values, R_32F, ROW_ORDER);
  CALL(cusparseCreateDnMat, &product, (int64_t)SIDE, (int64_t)SIDE, (int64_t)SIDE, result, R_32F, ROW_ORDER);
  CALL(cusparseSpMM_bufferSize, sparse, 0, 0, &one, matrix, dense, &zero, product, R_32F, 0, &bytes);
  CALL(cusparseSpMM, sparse, 0, 0, &one, matrix, dense, &zero, product, R_32F, 0, device_memory(bytes + 1));
  finish();
  CALL(cusparseDestroyDnMat, product);
  CALL(cusparseDestroyDnMat, dense);
  CALL(cusparseDestroyDnVec, y);
  CALL(cusparseDestroyDnVec, x);
  CALL(cusparseDestroySpMat, matrix);
  CALL(cusparseDestroy, sparse);
}

static void cusolver(void) {
  handle solver;
  int elements = 0;
  float *matrix = device_memory(4 * COUNT), *right = device_memory(4 * SIDE);
  int *pivots = device_memory(4 * SIDE), *information = device_memory(4);
  CALL(cusolverDnCreate, &solver);
  CALL(cusolverDnSgetrf_bufferSize, solver, SIDE, SIDE, matrix, SIDE, &elements);
  CALL(cusolverDnSgetrf, solver, SIDE, SIDE, matrix, SIDE, device_memory(4 * (size_t)elements + 4), pivots, information);
  CALL(cusolverDnSgetrs, solver, 0, SIDE, 1, matrix, SIDE, pivots, right, SIDE, information);
  CALL(cusolverDnSpotrf_bufferSize, solver, 0, SIDE, matrix, SIDE, &elements);
  CALL(cusolverDnSpotrf, solver, 0, SIDE, matrix, SIDE, device_memory(4 * (size_t)elements + 4), elements, information);
  CALL(cusolverDnSgeqrf_bufferSize, solver, SIDE, SIDE, matrix, SIDE, &elements);
  CALL(cusolverDnSgeqrf, solver, SIDE, SIDE, matrix, SIDE, right, device_memory(4 * (size_t)elements + 4), elements,
       information);
  finish();
  CALL(cusolverDnDestroy, solver);
}

static void cudnn(void) {
  handle dnn, image, filter, convolution, activation;
  float one = 1, zero = 0;
  size_t bytes = 0;
  CALL(cudnnCreate, &dnn);
  CALL(cudnnCreateTensorDescriptor, &image);
  CALL(cudnnSetTensor4dDescriptor, image, 0, 0, 2, 8, 16, 16);
  CALL(cudnnCreateFilterDescriptor, &filter);
  CALL(cudnnSetFilter4dDescriptor, filter, 0, 0, 8, 8, 3, 3);
  CALL(cudnnCreateConvolutionDescriptor, &convolution);
  CALL(cudnnSetConvolution2dDescriptor, convolution, 1, 1, 1, 1, 1, 1, 1, 0);
  void *data = device_memory(4 * COUNT), *weights = device_memory(4 * COUNT), *result = device_memory(4 * COUNT);
  CALL(cudnnGetConvolutionForwardWorkspaceSize, dnn, image, filter, convolution, image, 1, &bytes);
  CALL(cudnnConvolutionForward, dnn, &one, image, data, filter, weights, convolution, 1, device_memory(bytes + 1), bytes,
       &zero, image, result);
  CALL(cudnnCreateActivationDescriptor, &activation);
  CALL(cudnnSetActivationDescriptor, activation, 1, 0, 0.0);
  CALL(cudnnActivationForward, dnn, activation, &one, image, data, &zero, image, result);
  CALL(cudnnSoftmaxForward, dnn, 1, 0, &one, image, data, &zero, image, result);
  finish();
  CALL(cudnnDestroyActivationDescriptor, activation);
  CALL(cudnnDestroyConvolutionDescriptor, convolution);
  CALL(cudnnDestroyFilterDescriptor, filter);
  CALL(cudnnDestroyTensorDescriptor, image);
  CALL(cudnnDestroy, dnn);
}

static void nvjitlink(void) {
  enum { PTX = 2 };
  static char source[] =
      ".version 7.8\n.target sm_90\n.address_size 64\n"
      ".visible .entry nothing(.param .u64 target) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [target]; ret; }\n";
  const char *options[] = {"-arch=sm_90"};
  handle linker, module, kernel;
  size_t bytes = 0;
  CALL(__nvJitLinkCreate_13_0, &linker, 1, options);
  CALL(__nvJitLinkAddData_13_0, linker, PTX, source, sizeof source, "nothing");
  CALL(__nvJitLinkComplete_13_0, linker);
  CALL(__nvJitLinkGetLinkedCubinSize_13_0, linker, &bytes);
  void *image = malloc(bytes), *data = device_memory(8), *parameters[] = {&data};
  CALL(__nvJitLinkGetLinkedCubin_13_0, linker, image);
  CALL(__nvJitLinkDestroy_13_0, &linker);
  DRIVER(cuModuleLoadData, &module, image);
  DRIVER(cuModuleGetFunction, &kernel, module, "nothing");
  DRIVER(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, (handle)NULL, parameters, (handle)NULL);
  finish();
  DRIVER(cuModuleUnload, module);
  free(image);
}

/** Sums over all GPUs there are, and gives each the sum. */
static void nccl(void) {
  enum { FLOAT = 7, SUM = 0, MOST = 8 };
  handle comms[MOST], streams[MOST], context;
  int count = 0;
  DRIVER(cuDeviceGetCount, &count);
  CALL(ncclCommInitAll, comms, count, (handle)NULL);
  CALL(ncclGroupStart, );
  for (int i = 0; i < count; i++) {
    DRIVER(cuDevicePrimaryCtxRetain, &context, i);
    DRIVER(cuCtxSetCurrent, context);
    DRIVER(cuStreamCreate, &streams[i], 1);
    void *data = device_memory(4 * COUNT);
    CALL(ncclAllReduce, data, data, (size_t)COUNT, FLOAT, SUM, comms[i], streams[i]);
  }
  CALL(ncclGroupEnd, );
  for (int i = 0; i < count; i++) DRIVER(cuStreamSynchronize, streams[i]);
  for (int i = 0; i < count; i++) CALL(ncclCommDestroy, comms[i]);
}

static const struct {
  const char *name;
  void (*run)(void);
} libraries[] = {
    {"cublas", cublas},     {"cublaslt", cublaslt}, {"cufft", cufft}, {"curand", curand}, {"cusparse", cusparse},
    {"cusolver", cusolver}, {"cudnn", cudnn},       {"nvjitlink", nvjitlink}, {"nccl", nccl},
};

int main(int count, char **arguments) {
  if (count != 3) {
    printf("usage: libraries NAME FILE\n");
    return 2;
  }
  handle context;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  library = driver ? dlopen(arguments[2], RTLD_NOW) : NULL;
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  DRIVER(cuInit, 0);
  DRIVER(cuDevicePrimaryCtxRetain, &context, 0);
  DRIVER(cuCtxSetCurrent, context);
  DRIVER(cuProfilerStart, );
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    if (strcmp(libraries[i].name, arguments[1]) != 0) continue;
    libraries[i].run();
    DRIVER(cuProfilerStop, );
    DRIVER(cuDevicePrimaryCtxRelease_v2, 0);
    printf("%s: OK\n", arguments[1]);
    return 0;
  }
  printf("no library %s\n", arguments[1]);
  return 2;
}
