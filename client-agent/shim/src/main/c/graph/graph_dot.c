// SPDX-License-Identifier: Apache-2.0
// Pictures of graphs for Graphviz.
#include "graph/graph.h"
#include "module/library.h"
#include "shim.h"

#include <inttypes.h>
#include <stdio.h>

// CUgraphDebugDot_flags
enum {
  DOT_VERBOSE = 1,
  DOT_KERNEL = 1 << 2,
  DOT_COPY = 1 << 3,
  DOT_FILL = 1 << 4,
  DOT_HOST = 1 << 5,
  DOT_EVENT = 1 << 6,
  DOT_HANDLES = 1 << 10,
  DOT_ALLOC = 1 << 11,
  DOT_FREE = 1 << 12,
  DOT_CONDITIONAL = 1 << 15,
};

static const char *type_name(int type) {
  static const char *const names[] = {"KERNEL",       "MEMCPY",    "MEMSET",       "HOST",
                                      "GRAPH",        "EMPTY",     "EVENT_WAIT",   "EVENT_RECORD",
                                      "EXT_SEM_SIGNAL", "EXT_SEM_WAIT", "MEM_ALLOC", "MEM_FREE",
                                      "BATCH_MEM_OP", "CONDITIONAL"};
  if (type == NODE_COLLECTIVE) return "COLLECTIVE";
  return type >= 0 && (size_t)type < sizeof names / sizeof *names ? names[type] : "?";
}

static void print_kernel(FILE *file, const struct work *work, bool all) {
  const struct kernel_work *kernel = &work->kernel;
  const struct function *function = arena_find(&functions, kernel->function);
  fprintf(file, "\\n%s", function ? function->info->name : "?");
  if (!all) return;
  fprintf(file, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", kernel->grid[0], kernel->grid[1],
          kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2],
          kernel->sharedBytes);
}

static void print_copy(FILE *file, const CUDA_MEMCPY3D *copy) {
  uint64_t from = copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy->srcHost
                                                            : copy->srcDevice;
  uint64_t to = copy->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy->dstHost
                                                          : copy->dstDevice;
  fprintf(file, "\\n0x%" PRIx64 " -> 0x%" PRIx64 ", %zu x %zu x %zu", from, to,
          copy->WidthInBytes, copy->Height, copy->Depth);
}

static void print_work(FILE *file, const struct work *work, unsigned int flags) {
  bool all = flags & DOT_VERBOSE;
  if (work->type == NODE_KERNEL) {
    print_kernel(file, work, all || flags & DOT_KERNEL);
  } else if (work->type == NODE_MEMCPY && (all || flags & DOT_COPY)) {
    print_copy(file, &work->copy);
  } else if (work->type == NODE_MEMSET && (all || flags & DOT_FILL)) {
    fprintf(file, "\\n0x%" PRIx64 " = %u, %u x %zu x %zu", (uint64_t)work->fill.dst,
            work->fill.value, work->fill.elementSize, work->fill.width, work->fill.height);
  } else if (work->type == NODE_HOST && (all || flags & DOT_HOST)) {
    fprintf(file, "\\n%p(%p)", (void *)work->host.fn, work->host.userData);
  } else if ((work->type == NODE_EVENT_RECORD || work->type == NODE_EVENT_WAIT) &&
             (all || flags & DOT_EVENT)) {
    fprintf(file, "\\n%p", (void *)work->event);
  } else if (work->type == NODE_MEM_ALLOC && (all || flags & DOT_ALLOC)) {
    fprintf(file, "\\n%zu bytes at 0x%" PRIx64, work->alloc.params.bytesize,
            (uint64_t)work->alloc.params.dptr);
  } else if (work->type == NODE_MEM_FREE && (all || flags & DOT_FREE)) {
    fprintf(file, "\\n0x%" PRIx64, (uint64_t)work->freed);
  } else if (work->type == NODE_CONDITIONAL && (all || flags & DOT_CONDITIONAL)) {
    static const char *const kinds[] = {"IF", "WHILE", "SWITCH"};
    fprintf(file, "\\n%s of 0x%" PRIx64, kinds[work->conditional.kind],
            work->conditional.handle);
  }
}

static void print_graph(FILE *file, const struct graph *graph, unsigned int flags);

static void print_inner(FILE *file, const struct graph_node *node, const struct graph *graph,
                        unsigned int index, unsigned int flags) {
  fprintf(file, "subgraph cluster_%" PRIu64 "_%u {\nlabel=\"graph of node %" PRIu64 "\";\n",
          node->id, index, node->id);
  print_graph(file, graph, flags);
  fprintf(file, "}\n");
}

static void print_graph(FILE *file, const struct graph *graph, unsigned int flags) {
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct graph_node *node = graph->nodes[i];
    fprintf(file, "node_%" PRIu64 " [shape=\"record\" label=\"%s", node->id,
            type_name(node->work.type));
    if (flags & (DOT_VERBOSE | DOT_HANDLES)) fprintf(file, "\\n%p", (const void *)node);
    print_work(file, &node->work, flags);
    fprintf(file, "\"];\n");
    if (node->work.type == NODE_CHILD) print_inner(file, node, node->work.child, 0, flags);
    if (node->work.type == NODE_CONDITIONAL) {
      for (unsigned int j = 0; j < node->work.conditional.count; j++) {
        print_inner(file, node, node->work.conditional.bodies[j], j, flags);
      }
    }
  }
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct graph_node *node = graph->nodes[i];
    for (uint32_t j = 0; j < node->out.count; j++) {
      fprintf(file, "node_%" PRIu64 " -> node_%" PRIu64 ";\n", node->id,
              node_at(&node->out, j)->id);
    }
  }
}

CUresult shim_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph *graph = graph_find(hGraph);
  FILE *file = graph ? fopen(path, "we") : NULL;
  bool written = file != NULL;
  if (file) {
    fprintf(file, "digraph graph_of_cuda {\n");
    print_graph(file, graph, flags);
    fprintf(file, "}\n");
    written = !ferror(file);
    written = !fclose(file) && written;
  }
  lock_release(&graphLock);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  return written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
