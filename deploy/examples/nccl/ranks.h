// SPDX-License-Identifier: Apache-2.0
// The ranks of this process: all of them, each with a device of its own, or with --rank one of several processes, which
// find each other by a file that has the identifier. Where --rank and --ranks are absent, Open MPI's mpirun says both.
#pragma once

#include <unistd.h>

#include "nccl_api.h"

enum { MAX_RANKS = 64 };

struct rank {
  int rank;
  CUcontext context;
  CUstream stream;
  ncclComm_t comm;
};

struct ranks {
  int count;  // of all processes
  int own;    // of this one
  struct rank own_ranks[MAX_RANKS];
};

struct rank_options {
  int ranks;  // 0: as many as mpirun has started, or as there are devices
  int rank;   // -1: mpirun says it, or all are in this process
  int device;
  const char *id_file;
  const char *nccl;
};

/** Takes in an option with its value; false if it is none of these. */
static inline int rank_option(struct rank_options *options, const char *name, const char *value) {
  if (strcmp(name, "--ranks") == 0) {
    options->ranks = atoi(value);
  } else if (strcmp(name, "--rank") == 0) {
    options->rank = atoi(value);
  } else if (strcmp(name, "--device") == 0) {
    options->device = atoi(value);
  } else if (strcmp(name, "--id-file") == 0) {
    options->id_file = value;
  } else if (strcmp(name, "--nccl") == 0) {
    options->nccl = value;
  } else {
    return 0;
  }
  return 1;
}

/** Takes what mpirun says for options that are absent. */
static inline void ranks_of_mpi(struct rank_options *options) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *count = getenv("OMPI_COMM_WORLD_SIZE");
  if (options->rank < 0 && options->ranks == 0 && rank != NULL && count != NULL) {
    options->rank = atoi(rank);
    options->ranks = atoi(count);
  }
}

/** Writes a file that is there as a whole or not at all. */
static inline void write_whole(const char *path, const void *bytes, size_t count) {
  char part[4096];
  snprintf(part, sizeof part, "%s.part", path);
  FILE *file = fopen(part, "w");
  if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0 || rename(part, path) != 0) {
    fail("cannot write %s: %m", path);
  }
}

/** The identifier: rank 0 makes it, the others wait for the file. */
static inline ncclUniqueId exchange_id(const struct rank_options *options) {
  enum { PATIENCE_SECONDS = 60, TRIES_PER_SECOND = 50 };
  ncclUniqueId id;
  if (options->rank == 0) {
    NCCL_CHECK(ncclGetUniqueId(&id));
    write_whole(options->id_file, &id, sizeof id);
    return id;
  }
  for (int i = 0; i < PATIENCE_SECONDS * TRIES_PER_SECOND; i++) {
    FILE *file = fopen(options->id_file, "r");
    if (file != NULL) {
      size_t got = fread(&id, 1, sizeof id, file);
      fclose(file);
      if (got == sizeof id) {
        return id;
      }
    }
    usleep(1000000 / TRIES_PER_SECOND);
  }
  fail("no identifier in %s after %d s", options->id_file, PATIENCE_SECONDS);
}

static inline void rank_enter(const struct rank *rank) { CHECK(cuCtxSetCurrent(rank->context)); }

static inline void rank_prepare(struct rank *rank, int number, int device) {
  CUdevice handle;
  rank->rank = number;
  CHECK(cuDeviceGet(&handle, device));
  CHECK(cuDevicePrimaryCtxRetain(&rank->context, handle));
  rank_enter(rank);
  CHECK(cuStreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING));
}

static inline void ranks_start(struct ranks *ranks, const struct rank_options *given) {
  int devices;
  ncclComm_t comms[MAX_RANKS];
  struct rank_options with_mpi = *given;
  const struct rank_options *options = &with_mpi;
  ranks_of_mpi(&with_mpi);
  nccl_load(options->nccl);
  CHECK(cuInit(0));
  CHECK(cuDeviceGetCount(&devices));
  ranks->count = options->ranks > 0 ? options->ranks : devices;
  if (ranks->count > MAX_RANKS || options->rank >= ranks->count) {
    fail("rank %d of %d ranks; there can be %d", options->rank, ranks->count, MAX_RANKS);
  }
  if (options->rank >= 0) {
    if (options->id_file == NULL) {
      fail("a rank among several processes needs --id-file");
    }
    ranks->own = 1;
    rank_prepare(&ranks->own_ranks[0], options->rank, options->device);
    NCCL_CHECK(ncclCommInitRank(&ranks->own_ranks[0].comm, ranks->count, exchange_id(options), options->rank));
    return;
  }
  if (ranks->count > devices) {
    fail("%d ranks need as many devices; there are %d", ranks->count, devices);
  }
  ranks->own = ranks->count;
  for (int i = 0; i < ranks->own; i++) {
    rank_prepare(&ranks->own_ranks[i], i, i);
  }
  NCCL_CHECK(ncclCommInitAll(comms, ranks->count, NULL));
  for (int i = 0; i < ranks->own; i++) {
    ranks->own_ranks[i].comm = comms[i];
  }
}

static inline void ranks_wait(const struct ranks *ranks) {
  for (int i = 0; i < ranks->own; i++) {
    rank_enter(&ranks->own_ranks[i]);
    CHECK(cuStreamSynchronize(ranks->own_ranks[i].stream));
  }
}

static inline void ranks_end(struct ranks *ranks) {
  for (int i = 0; i < ranks->own; i++) {
    rank_enter(&ranks->own_ranks[i]);
    NCCL_CHECK(ncclCommFinalize(ranks->own_ranks[i].comm));
  }
  for (int i = 0; i < ranks->own; i++) {
    NCCL_CHECK(ncclCommDestroy(ranks->own_ranks[i].comm));
  }
}
