// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_memory_use.h"

#include "graph/graph_memory.h"

static struct graph_memory *allocated_by(const struct graph_node *node) {
  return node->work.type == NODE_MEM_ALLOC ? node->work.alloc.memory : NULL;
}

bool graph_memory_claim(const struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct graph_memory *memory = allocated_by(graph->nodes[i]);
    if (memory && memory->executable) return false;
  }
  for (uint32_t i = 0; i < graph->count; i++) {
    struct graph_memory *memory = allocated_by(graph->nodes[i]);
    if (memory) memory->executable = true;
  }
  return true;
}

void graph_memory_unclaim(const struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    struct graph_memory *memory = allocated_by(graph->nodes[i]);
    if (memory) memory->executable = false;
  }
}

CUresult graph_memory_launch(const struct graph *graph, bool autoFree) {
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct graph_memory *memory = allocated_by(graph->nodes[i]);
    if (memory && memory->alive && !autoFree) return CUDA_ERROR_INVALID_VALUE;
  }
  for (uint32_t i = 0; i < graph->count; i++) {
    struct graph_memory *memory = allocated_by(graph->nodes[i]);
    if (memory && !memory->alive) graph_memory_come_alive(memory);
  }
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct work *work = &graph->nodes[i]->work;
    struct graph_memory *memory =
        work->type == NODE_MEM_FREE ? graph_memory_find(work->freed) : NULL;
    if (memory) graph_memory_give_up(memory);
  }
  return CUDA_SUCCESS;
}
