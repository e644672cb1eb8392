// SPDX-License-Identifier: Apache-2.0
// The functions that move data between ranks, and the operators of their reductions.
#include "nccl_library.h"

static ncclResult_t submit(const struct nccl_request *request) {
  const struct nccl_table *table = library_table();
  return table ? table->submit(request) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclAllReduce, const void *sendbuff, void *recvbuff, size_t count, int datatype, int op,
    ncclComm_t comm, CUstream stream) {
  return submit(&(struct nccl_request){"ncclAllReduce", NCCL_ALL_REDUCE, sendbuff, recvbuff, count, datatype, op, 0,
                                       comm, stream});
}

OWN(ncclResult_t, ncclBroadcast, const void *sendbuff, void *recvbuff, size_t count, int datatype, int root,
    ncclComm_t comm, CUstream stream) {
  return submit(&(struct nccl_request){"ncclBroadcast", NCCL_BROADCAST, sendbuff, recvbuff, count, datatype, 0, root,
                                       comm, stream});
}

OWN(ncclResult_t, ncclBcast, void *buff, size_t count, int datatype, int root, ncclComm_t comm, CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclBcast", NCCL_BROADCAST, buff, buff, count, datatype, 0, root, comm, stream});
}

OWN(ncclResult_t, ncclReduce, const void *sendbuff, void *recvbuff, size_t count, int datatype, int op, int root,
    ncclComm_t comm, CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclReduce", NCCL_REDUCE, sendbuff, recvbuff, count, datatype, op, root, comm, stream});
}

OWN(ncclResult_t, ncclAllGather, const void *sendbuff, void *recvbuff, size_t sendcount, int datatype,
    ncclComm_t comm, CUstream stream) {
  return submit(&(struct nccl_request){"ncclAllGather", NCCL_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, 0, 0,
                                       comm, stream});
}

OWN(ncclResult_t, ncclReduceScatter, const void *sendbuff, void *recvbuff, size_t recvcount, int datatype, int op,
    ncclComm_t comm, CUstream stream) {
  return submit(&(struct nccl_request){"ncclReduceScatter", NCCL_REDUCE_SCATTER, sendbuff, recvbuff, recvcount,
                                       datatype, op, 0, comm, stream});
}

OWN(ncclResult_t, ncclSend, const void *sendbuff, size_t count, int datatype, int peer, ncclComm_t comm,
    CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclSend", NCCL_SEND, sendbuff, NULL, count, datatype, 0, peer, comm, stream});
}

OWN(ncclResult_t, ncclRecv, void *recvbuff, size_t count, int datatype, int peer, ncclComm_t comm,
    CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclRecv", NCCL_RECEIVE, NULL, recvbuff, count, datatype, 0, peer, comm, stream});
}

OWN(ncclResult_t, ncclAlltoAll, const void *sendbuff, void *recvbuff, size_t count, int datatype, ncclComm_t comm,
    CUstream stream) {
  return submit(&(struct nccl_request){"ncclAlltoAll", NCCL_ALL_TO_ALL, sendbuff, recvbuff, count, datatype, 0, 0, comm,
                                       stream});
}

OWN(ncclResult_t, ncclGather, const void *sendbuff, void *recvbuff, size_t count, int datatype, int root,
    ncclComm_t comm, CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclGather", NCCL_GATHER, sendbuff, recvbuff, count, datatype, 0, root, comm, stream});
}

OWN(ncclResult_t, ncclScatter, const void *sendbuff, void *recvbuff, size_t count, int datatype, int root,
    ncclComm_t comm, CUstream stream) {
  return submit(
      &(struct nccl_request){"ncclScatter", NCCL_SCATTER, sendbuff, recvbuff, count, datatype, 0, root, comm, stream});
}

OWN(ncclResult_t, ncclRedOpCreatePreMulSum, int *op, void *scalar, int datatype, int residence, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  if (!table) return NCCL_SYSTEM_ERROR;
  if (residence != 0 && residence != 1) {
    return table->refuse(NCCL_INVALID_ARGUMENT, "ncclRedOpCreatePreMulSum: no such residence of a scalar");
  }
  return table->operatorMake(op, scalar, datatype, residence, comm);
}

OWN(ncclResult_t, ncclRedOpDestroy, int op, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  return table ? table->operatorEnd(op, comm) : NCCL_SYSTEM_ERROR;
}
