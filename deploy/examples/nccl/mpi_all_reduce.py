# SPDX-License-Identifier: Apache-2.0
"""An all-reduce by NCCL between ranks that mpi4py brings together, each with a GPU of its own.

    mpirun -n 2 gpupool run --pool POOL -p 0.2 -- python3 mpi_all_reduce.py

Needs mpi4py alone: NCCL and the CUDA driver API are called by ctypes.
"""
import array
import ctypes

from mpi4py import MPI

ELEMENTS = 100_000
FLOAT, SUM = 7, 0

cuda = ctypes.CDLL("libcuda.so.1")
nccl = ctypes.CDLL("libnccl.so.2")


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def check(name, result):
    if result:
        raise SystemExit(f"mpi_all_reduce: {name} gave {result}")


def main():
    ranks = MPI.COMM_WORLD
    own = array.array("f", (ranks.rank + element % 100 for element in range(ELEMENTS)))
    host = (ctypes.c_float * ELEMENTS).from_buffer(own)
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    check("cuInit", cuda.cuInit(0))
    check("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context))
    check("cuMemAlloc", cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(host))))

    unique, communicator = UniqueId(), ctypes.c_void_p()
    if ranks.rank == 0:
        check("ncclGetUniqueId", nccl.ncclGetUniqueId(ctypes.byref(unique)))
    ranks.Bcast([(ctypes.c_char * 128).from_buffer(unique), MPI.BYTE])
    check("ncclCommInitRank",
          nccl.ncclCommInitRank(ctypes.byref(communicator), ranks.size, unique, ranks.rank))

    check("cuMemcpyHtoD", cuda.cuMemcpyHtoD_v2(memory, host, ctypes.c_size_t(ctypes.sizeof(host))))
    check("ncclAllReduce",
          nccl.ncclAllReduce(memory, memory, ctypes.c_size_t(ELEMENTS), FLOAT, SUM, communicator, None))
    check("cuMemcpyDtoH", cuda.cuMemcpyDtoH_v2(host, memory, ctypes.c_size_t(ctypes.sizeof(host))))

    first = ranks.size * (ranks.size - 1) // 2
    for element, value in enumerate(own):
        if value != first + ranks.size * (element % 100):
            raise SystemExit(f"mpi_all_reduce: element {element} is {value}")
    check("ncclCommDestroy", nccl.ncclCommDestroy(communicator))
    check("cuMemFree", cuda.cuMemFree_v2(memory))
    print(f"mpi_all_reduce: OK, rank {ranks.rank} of {ranks.size}", flush=True)


main()
