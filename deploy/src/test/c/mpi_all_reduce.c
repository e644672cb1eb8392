// SPDX-License-Identifier: Apache-2.0
// One rank of a program of MPI and NCCL, like NCCL's own tests: rank 0 makes the identifier, MPI tells it to the others,
// and all of them add up vectors of every size between the limits. Arguments: -b BYTES -e BYTES[M] -f FACTOR
#include <mpi.h>
#include <unistd.h>

#include "../../../examples/nccl/nccl_api.h"

static size_t bytes(const char *text) {
  char *rest;
  size_t number = strtoul(text, &rest, 10);
  return *rest == 'M' ? number << 20 : number;
}

static void sum(size_t count, int rank, int ranks, ncclComm_t comm, CUstream stream) {
  float *values = malloc(count * sizeof *values);
  CUdeviceptr memory;
  for (size_t i = 0; i < count; i++) {
    values[i] = (float)(i % 1000) + (float)rank;
  }
  CHECK(cuMemAlloc(&memory, count * sizeof *values));
  CHECK(cuMemcpyHtoD(memory, values, count * sizeof *values));
  NCCL_CHECK(ncclAllReduce(memory, memory, count, NCCL_FLOAT32, NCCL_SUM, comm, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(values, memory, count * sizeof *values));
  for (size_t i = 0; i < count; i++) {
    float expected = (float)(ranks * (int)(i % 1000) + ranks * (ranks - 1) / 2);
    if (values[i] != expected) {
      fail("element %zu of %zu is %g, not %g", i, count, (double)values[i], (double)expected);
    }
  }
  CHECK(cuMemFree(memory));
  free(values);
}

int main(int argc, char **argv) {
  size_t least = 8, most = 1 << 20, factor = 2;
  int rank, ranks, sizes = 0;
  char host[256], gpu[256];
  ncclUniqueId id;
  ncclComm_t comm;
  CUdevice device;
  CUcontext context;
  CUstream stream;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i + 1 < argc; i += 2) {
    *(argv[i][1] == 'b' ? &least : argv[i][1] == 'e' ? &most : &factor) = bytes(argv[i + 1]);
  }
  nccl_load("libnccl.so.2");
  if (rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&id));
  }
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGetName(gpu, sizeof gpu, device));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  NCCL_CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  for (size_t size = least; size <= most; size *= factor) {
    sum(size / sizeof(float), rank, ranks, comm, stream);
    sizes++;
  }
  NCCL_CHECK(ncclCommDestroy(comm));
  gethostname(host, sizeof host);
  printf("mpi_all_reduce: rank %d of %d on %s, %s: %d sizes OK\n", rank, ranks, host, gpu, sizes);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
