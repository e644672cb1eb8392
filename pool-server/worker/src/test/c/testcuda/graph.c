// SPDX-License-Identifier: Apache-2.0
// Graphs: a launch puts the nodes into the stream in the order in which they were added.
#include "driver.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct kernel_params {
  struct function *f;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};

struct fill_params {
  Address address;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};

struct copy_side {
  size_t x, y, z, level;
  int type;
  void *host;
  Address device;
  void *array, *reserved;
  size_t pitch, height;
};

struct copy_params {
  struct copy_side source, target;
  size_t width, height, depth;
};

struct node {
  int kind, index, disabled;
  struct kernel_params kernel;
  size_t parameter_bytes;
  char parameters[256];
  struct copy_params copy;
  struct fill_params fill;
  struct event *event;
  struct condition *condition;
  unsigned type, bodies;
  struct graph *body[4];
};

struct graph {
  int count, is_body;
  struct node nodes[64];
};

/* Kernels write to the value; its address is the handle. */
struct condition {
  unsigned value, initial, flags;
};

/* CUgraphNodeParams of a conditional node */
struct conditional_params {
  unsigned kind, reserved[3];
  struct condition *condition;
  unsigned type, bodies;
  struct graph **graphs;
  struct context *context;
};

enum { KERNEL, COPY, FILL, EMPTY = 5, WAIT = 6, RECORD = 7, CONDITIONAL = 13 };

static struct graph *graph_of(struct node *node) {
  return (struct graph *)((char *)(node - node->index) - offsetof(struct graph, nodes));
}

/* Returns the node of an executable graph; bodies are not copied with the graph around them. */
static struct node *executed(struct graph *exec, struct node *node) {
  return graph_of(node)->is_body ? node : &exec->nodes[node->index];
}

Result cuGraphCreate(struct graph **out, unsigned flags) {
  *out = calloc(1, sizeof **out);
  return flags ? INVALID_VALUE : usable();
}

Result cuGraphDestroy(struct graph *graph) { free(graph); return SUCCESS; }

static Result add_node(struct node **out, struct graph *graph, struct node **dependencies, size_t count, struct node node) {
  for (size_t i = 0; i < count; i++) {
    if (dependencies[i] < graph->nodes || dependencies[i] >= graph->nodes + graph->count) return INVALID_VALUE;
  }
  if (graph->count == 64) return OUT_OF_MEMORY;
  node.index = graph->count;
  graph->nodes[graph->count] = node;
  *out = &graph->nodes[graph->count++];
  return usable();
}

static Result read_kernel(struct node *node, struct kernel_params *params) {
  if (params->parameters || params->extra[0] != (void *)1 || params->extra[2] != (void *)2) return INVALID_VALUE;
  node->kernel = *params;
  node->parameter_bytes = *(size_t *)params->extra[3];
  if (node->parameter_bytes > sizeof node->parameters) return INVALID_VALUE;
  memcpy(node->parameters, params->extra[1], node->parameter_bytes);
  return SUCCESS;
}

Result cuGraphAddKernelNode_v2(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                               struct kernel_params *params) {
  count_call();
  struct node node = {.kind = KERNEL};
  Result result = read_kernel(&node, params);
  return result ? result : add_node(out, graph, dependencies, count, node);
}

/* Takes the CU_KERNEL_NODE_ATTRIBUTE_* of cuda.h, except the one of nodes that kernels change. */
Result cuGraphKernelNodeSetAttribute(struct node *node, int id, const void *value) {
  if (node->kind != KERNEL || !value) return INVALID_VALUE;
  switch (id) {
    case 1: case 2: case 4: case 5: case 8: case 9: case 10: case 11: case 14: case 16:
      return SUCCESS;
    default:
      return INVALID_VALUE;
  }
}

/* Returns whether a side is device memory and has no other field set. */
static int is_memory(const struct copy_side *side) {
  return side->type == 2 && !side->host && !side->array && !side->reserved && !side->level;
}

Result cuGraphAddMemcpyNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                            struct copy_params *params, struct context *context) {
  count_call();
  if (!context || !is_memory(&params->source) || !is_memory(&params->target)) return INVALID_VALUE;
  return add_node(out, graph, dependencies, count, (struct node){.kind = COPY, .copy = *params});
}

Result cuGraphAddMemsetNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                            struct fill_params *params, struct context *context) {
  count_call();
  if (!context || params->element != 4 || params->height != 1) return INVALID_VALUE;
  return add_node(out, graph, dependencies, count, (struct node){.kind = FILL, .fill = *params});
}

Result cuGraphAddEmptyNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = EMPTY});
}

Result cuGraphAddEventRecordNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                                 struct event *event) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = RECORD, .event = event});
}

Result cuGraphAddEventWaitNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                               struct event *event) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = WAIT, .event = event});
}

Result cuGraphConditionalHandleCreate(struct condition **out, struct graph *graph, struct context *context, unsigned value,
                                      unsigned flags) {
  Address address;
  Result result = graph && context && flags <= 1 ? cuMemAlloc_v2(&address, sizeof **out) : INVALID_VALUE;
  if (result) return result;
  *out = (struct condition *)address;
  **out = (struct condition){.initial = value, .flags = flags};
  return SUCCESS;
}

Result cuGraphAddNode_v2(struct node **out, struct graph *graph, struct node **dependencies, void *data, size_t count,
                         struct conditional_params *params) {
  count_call();
  struct node node = {.kind = CONDITIONAL, .condition = params->condition, .type = params->type, .bodies = params->bodies};
  if (params->kind != CONDITIONAL || data || !params->context || params->bodies > 4) return INVALID_VALUE;
  for (unsigned i = 0; i < params->bodies; i++) {
    node.body[i] = calloc(1, sizeof(struct graph));
    node.body[i]->is_body = 1;
  }
  Result result = add_node(out, graph, dependencies, count, node);
  params->graphs = (*out)->body;
  return result;
}

Result cuGraphExecNodeSetParams(struct graph *exec, struct node *node, struct conditional_params *params) {
  count_call();
  executed(exec, node)->condition = params->condition;
  return params->kind == CONDITIONAL ? SUCCESS : INVALID_VALUE;
}

Result cuGraphDestroyNode(struct node *node) {
  struct graph *graph = graph_of(node);
  if (node->index != graph->count - 1) return INVALID_VALUE;
  graph->count--;
  return SUCCESS;
}

Result cuGraphInstantiateWithFlags(struct graph **out, struct graph *graph, unsigned long long flags) {
  *out = malloc(sizeof **out);
  **out = *graph;
  return flags & ~15ull ? INVALID_VALUE : usable();
}

Result cuGraphExecDestroy(struct graph *exec) { free(exec); return SUCCESS; }

Result cuGraphExecKernelNodeSetParams_v2(struct graph *exec, struct node *node, struct kernel_params *params) {
  count_call();
  return read_kernel(executed(exec, node), params);
}

Result cuGraphExecMemcpyNodeSetParams(struct graph *exec, struct node *node, struct copy_params *params,
                                      struct context *context) {
  count_call();
  if (!is_memory(&params->source) || !is_memory(&params->target)) return INVALID_VALUE;
  executed(exec, node)->copy = *params;
  return context ? SUCCESS : INVALID_VALUE;
}

Result cuGraphExecMemsetNodeSetParams(struct graph *exec, struct node *node, struct fill_params *params,
                                      struct context *context) {
  count_call();
  executed(exec, node)->fill = *params;
  return context ? SUCCESS : INVALID_VALUE;
}

Result cuGraphNodeSetEnabled(struct graph *exec, struct node *node, unsigned enabled) {
  executed(exec, node)->disabled = !enabled;
  return SUCCESS;
}

static Result run_conditional(struct node *node, struct stream *stream);

static Result run_node(struct node *node, struct stream *stream) {
  void *extra[] = {(void *)1, node->parameters, (void *)2, &node->parameter_bytes, NULL};
  struct kernel_params *k = &node->kernel;
  switch (node->disabled ? EMPTY : node->kind) {
    case KERNEL:
      return cuLaunchKernel(k->f, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
                            k->shared, stream, NULL, extra);
    case COPY:
      return cuMemcpyDtoDAsync_v2(node->copy.target.device, node->copy.source.device, node->copy.width, stream);
    case FILL:
      return cuMemsetD32Async(node->fill.address, node->fill.value, node->fill.width, stream);
    case WAIT:
      return cuStreamWaitEvent(stream, node->event, 0);
    case RECORD:
      return cuEventRecord(node->event, stream);
    case CONDITIONAL:
      return run_conditional(node, stream);
    default:
      return SUCCESS;
  }
}

static Result run_body(struct graph *graph, struct stream *stream) {
  Result result = SUCCESS;
  for (int i = 0; i < graph->count && !result; i++) result = run_node(&graph->nodes[i], stream);
  return result;
}

/* Waits for the work before it, because the launcher evaluates the condition. */
static Result run_conditional(struct node *node, struct stream *stream) {
  Result result = cuStreamSynchronize(stream);
  struct condition *condition = node->condition;
  if (condition->flags) condition->value = condition->initial;
  if (node->type == 2) return condition->value < node->bodies ? run_body(node->body[condition->value], stream) : result;
  if (node->type == 0 && !condition->value) return node->bodies > 1 ? run_body(node->body[1], stream) : result;
  do {
    if (condition->value && !result) result = run_body(node->body[0], stream);
    if (!result) result = cuStreamSynchronize(stream);
  } while (node->type == 1 && condition->value && !result);
  return result;
}

Result cuGraphUpload(struct graph *exec, struct stream *stream) { (void)exec; (void)stream; return usable(); }

Result cuGraphLaunch(struct graph *exec, struct stream *stream) {
  Result result = usable();
  for (int i = 0; i < exec->count && !result; i++) result = run_node(&exec->nodes[i], stream);
  return result;
}
