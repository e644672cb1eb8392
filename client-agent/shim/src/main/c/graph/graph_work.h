// SPDX-License-Identifier: Apache-2.0
// The work of a graph's nodes.
#pragma once

#include "collective/communicator.h"
#include "context/context.h"
#include "graph/graph_types.h"
#include "module/launch.h"

/** The type of collectives' nodes, which no CUgraphNodeType is. Programs are told that they are of NODE_HOST. */
enum { NODE_COLLECTIVE = 1000 };

struct graph;
struct graph_memory;

struct kernel_work {
  CUfunction function;
  CUkernel kernel;  // that the function is of a library's; or NULL
  unsigned int grid[3], block[3];
  unsigned int sharedBytes;
  uint32_t attributeCount, parameterBytes, parameterCount;
  struct launch_attribute *attributes;
  uint8_t *parameters;  // laid out as the function's table says
  void **pointers;      // to each of them; programs are given it, and may write to it
  uint32_t *offsets;    // of each, in the memory behind the pointers
};

/** Sets the pointers to the parameters again, because the program may have overwritten them. */
void kernel_point(struct kernel_work *kernel);

struct alloc_work {
  struct graph_memory *memory;
  CUDA_MEM_ALLOC_NODE_PARAMS params;  // without access descriptors
};

/** Operations of CUstreamBatchMemOpParams_BYTES each. */
struct memory_work {
  unsigned int count;
  void *operations;
};

/** Calls of a communicator that run as one. */
struct collective_work {
  struct communicator *communicator;
  uint64_t communicatorId;
  uint32_t count;
  struct collective_call *calls;
};

struct conditional_work {
  uint64_t handle;  // of the condition
  int kind;         // CUgraphConditionalNodeType
  unsigned int count;
  struct graph **bodies;  // so many; or NULL, where only the rest counts
};

struct work {
  int type;  // enum node_type
  struct context *context;
  uint64_t contextId;
  union {
    struct kernel_work kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    struct graph *child;
    CUevent event;
    struct alloc_work alloc;
    CUdeviceptr freed;
    struct memory_work memory;
    struct collective_work collective;
    struct conditional_work conditional;
  };
};

/** Returns empty work of a type, in a context or, with NULL, in none. */
struct work work_make(int type, struct context *context);

/** Copies work without the graphs in it; false without memory, with nothing to free. The graph lock is held. */
bool work_copy_own(struct work *to, const struct work *from);

/** Frees the memory of work, but not the graphs in it. The caller holds the graph lock. */
void work_clear_own(struct work *work);

/** Returns whether two pieces of work of one type do the same. */
bool work_equal(const struct work *one, const struct work *other);

/** Finds the context that work runs in; an error if it is gone or broken. */
CUresult work_context(const struct work *work, struct context **context);

/** Fills in a kernel, with its parameters one by one or packed. Earlier memory of the work is not freed. */
CUresult work_kernel(struct work *work, struct context *context, CUfunction handle,
                     const struct launch *launch, void **parameters, const void *packed,
                     size_t packedBytes);

bool kernel_same_attributes(const struct kernel_work *one, const struct kernel_work *other);

/** Gives new work of a kernel node the attributes that the node had. */
void kernel_keep_attributes(struct kernel_work *after, struct kernel_work *before);

/** Takes in operations that were checked; false: no memory. */
bool work_memory(struct work *work, struct context *context, const void *operations,
                 unsigned int count);

/** Takes in calls that were checked; false: no memory. */
bool work_collective(struct work *work, struct communicator *communicator, const struct collective_call *calls,
                     uint32_t count);

/** The function of a kernel's work. */
CUresult work_function(const struct work *work, struct function **function);

/** A copy of bytes in one row; the memory types as CUmemorytype. */
struct work work_copy_linear(struct context *context, uint64_t destination, int destinationType,
                             uint64_t source, int sourceType, size_t bytes);

/** The given context, or the current one or none for NULL. */
CUresult work_given_context(CUcontext given, struct context **context);
