// SPDX-License-Identifier: Apache-2.0
// The functions that make, ask and end communicators, and groups of calls.
#include "nccl_library.h"

/** Reads whether calls wait; absent: without a config. */
static ncclResult_t read_config(const struct nccl_table *table, const ncclConfig_t *config,
                                enum nccl_blocking absent, enum nccl_blocking *blocking) {
  *blocking = absent;
  if (!config) return NCCL_SUCCESS;
  if (config->magic != NCCL_CONFIG_MAGIC || config->bytes < sizeof *config) {
    return table->refuse(NCCL_INVALID_ARGUMENT, "the ncclConfig_t was not set to NCCL_CONFIG_INITIALIZER");
  }
  if (config->blocking != NCCL_UNDEFINED && config->blocking != 0 && config->blocking != 1) {
    return table->refuse(NCCL_INVALID_ARGUMENT, "blocking of an ncclConfig_t is 0 or 1");
  }
  *blocking = config->blocking == 0 ? NCCL_NOT_BLOCKING : NCCL_BLOCKING;
  return NCCL_SUCCESS;
}

static ncclResult_t join(ncclComm_t *made, int ranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config) {
  const struct nccl_table *table = library_table();
  enum nccl_blocking blocking;
  if (!table) return NCCL_SYSTEM_ERROR;
  ncclResult_t result = read_config(table, config, NCCL_BLOCKING, &blocking);
  return result ? result : table->join(made, ranks, id, rank, blocking);
}

OWN(ncclResult_t, ncclCommInitRank, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank) {
  return join(comm, nranks, &commId, rank, NULL);
}

OWN(ncclResult_t, ncclCommInitRankConfig, ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
    ncclConfig_t *config) {
  return join(comm, nranks, &commId, rank, config);
}

OWN(ncclResult_t, ncclCommInitRankScalable, ncclComm_t *newcomm, int nranks, int myrank, int nId,
    ncclUniqueId *commIds, ncclConfig_t *config) {
  // All ranks have the same ones: the first is enough.
  return join(newcomm, nranks, nId > 0 ? commIds : NULL, myrank, config);
}

ncclResult_t own_ncclGetUniqueId(ncclUniqueId *uniqueId);

OWN(ncclResult_t, ncclCommInitAll, ncclComm_t *comm, int ndev, const int *devlist) {
  const struct nccl_table *table = library_table();
  ncclUniqueId id;
  if (!table) return NCCL_SYSTEM_ERROR;
  ncclResult_t result = own_ncclGetUniqueId(&id);
  return result ? result : table->joinAll(comm, ndev, devlist, &id);
}

OWN(ncclResult_t, ncclCommSplit, ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config) {
  const struct nccl_table *table = library_table();
  enum nccl_blocking blocking;
  if (!table) return NCCL_SYSTEM_ERROR;
  ncclResult_t result = read_config(table, config, NCCL_INHERITED, &blocking);
  return result ? result : table->split(comm, color, key, newcomm, blocking);
}

OWN(ncclResult_t, ncclCommFinalize, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  return table ? table->finish(comm) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommDestroy, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  return table ? table->destroy(comm) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommAbort, ncclComm_t comm) {
  const struct nccl_table *table = library_table();
  return table ? table->abort(comm) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommGetAsyncError, ncclComm_t comm, ncclResult_t *asyncError) {
  const struct nccl_table *table = library_table();
  return table ? table->asyncError(comm, asyncError) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommCount, const ncclComm_t comm, int *count) {
  const struct nccl_table *table = library_table();
  return table ? table->describe(comm, count, NULL, NULL) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommUserRank, const ncclComm_t comm, int *rank) {
  const struct nccl_table *table = library_table();
  return table ? table->describe(comm, NULL, rank, NULL) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclCommCuDevice, const ncclComm_t comm, int *device) {
  const struct nccl_table *table = library_table();
  return table ? table->describe(comm, NULL, NULL, device) : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclGroupStart, void) {
  const struct nccl_table *table = library_table();
  return table ? table->groupBegin() : NCCL_SYSTEM_ERROR;
}

OWN(ncclResult_t, ncclGroupEnd, void) {
  const struct nccl_table *table = library_table();
  return table ? table->groupEnd() : NCCL_SYSTEM_ERROR;
}
