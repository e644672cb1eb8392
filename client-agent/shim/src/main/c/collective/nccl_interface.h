// SPDX-License-Identifier: Apache-2.0
// The interface between this library and gpupool's libnccl.so.2 (main/nccl), which finds the table of functions by
// cuGetExportTable. All results are of enum nccl_result.
#pragma once

#include "core/driver.h"
#include "wire.h"

/** The identifier of the table. */
#define NCCL_TABLE_ID "gpupool-nccl-tab"

enum {
  NCCL_ID_BYTES = 128,
  NCCL_TEXT_BYTES = 512,
  NCCL_OPERATORS = 5,  // those that exist without being made
  NCCL_NO_COLOUR = -1,
};

/** The numbers of ncclResult_t. */
enum nccl_result {
  NCCL_SUCCESS = 0,
  NCCL_CUDA_ERROR = 1,
  NCCL_SYSTEM_ERROR = 2,
  NCCL_INTERNAL_ERROR = 3,
  NCCL_INVALID_ARGUMENT = 4,
  NCCL_INVALID_USAGE = 5,
  NCCL_REMOTE_ERROR = 6,
  NCCL_IN_PROGRESS = 7,
  NCCL_TIMEOUT = 8,
};

/** Kinds of collectives: those that the worker knows, and those that are made of sends and receives. */
enum nccl_kind {
  NCCL_ALL_REDUCE = COLLECTIVE_ALL_REDUCE,
  NCCL_BROADCAST = COLLECTIVE_BROADCAST,
  NCCL_REDUCE = COLLECTIVE_REDUCE,
  NCCL_ALL_GATHER = COLLECTIVE_ALL_GATHER,
  NCCL_REDUCE_SCATTER = COLLECTIVE_REDUCE_SCATTER,
  NCCL_SEND = COLLECTIVE_SEND,
  NCCL_RECEIVE = COLLECTIVE_RECEIVE,
  NCCL_ALL_TO_ALL,
  NCCL_GATHER,
  NCCL_SCATTER,
};

/** The manner of a communicator's calls: they wait, return at once, or, after a split, do as the parent's do. */
enum nccl_blocking { NCCL_NOT_BLOCKING = 0, NCCL_BLOCKING = 1, NCCL_INHERITED = 2 };

struct communicator;

/** A collective as the program calls it. */
struct nccl_request {
  const char *function;  // its name, for errors
  enum nccl_kind kind;
  const void *send;
  void *receive;
  size_t count;
  int type, operation;
  int peer;  // a root, or the other rank of a transfer
  struct communicator *communicator;
  CUstream stream;
};

struct nccl_table {
  size_t bytes;  // of the table
  int (*groupBegin)(void);
  int (*groupEnd)(void);
  int (*join)(struct communicator **made, int ranks, const void *id, int rank, enum nccl_blocking blocking);
  /** devices: NULL for the first ones. */
  int (*joinAll)(struct communicator **made, int count, const int *devices, const void *id);
  int (*split)(struct communicator *parent, int color, int key, struct communicator **made,
               enum nccl_blocking blocking);
  int (*finish)(struct communicator *communicator);
  int (*destroy)(struct communicator *communicator);
  int (*abort)(struct communicator *communicator);
  int (*asyncError)(struct communicator *communicator, int *error);
  int (*describe)(struct communicator *communicator, int *ranks, int *rank, int *device);
  const char *(*lastError)(struct communicator *communicator);
  int (*submit)(const struct nccl_request *request);
  int (*operatorMake)(int *made, const void *scalar, int type, int immediate, struct communicator *communicator);
  int (*operatorEnd)(int operator, struct communicator *communicator);
  int (*allocate)(void **memory, size_t bytes);
  int (*release)(void *memory);
  /** Takes note of an error that the caller found, for lastError. */
  int (*refuse)(int result, const char *text);
  /** Whether the calls are carried out at the servers of the program's GPUs. Opens the session. */
  int (*serves)(void);
};
