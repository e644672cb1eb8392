// SPDX-License-Identifier: Apache-2.0
// Graphs: a launch makes a work of each node, which follow each other as the nodes do.
#include "array.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

struct event;

CUresult event_record(struct event *event, struct stream *stream);
void event_wait(struct event *event, struct stream *stream);

enum { KERNEL = 0, COPY = 1, FILL = 2, EMPTY = 5, EVENT_WAIT = 6, EVENT_RECORD = 7, CONDITIONAL = 13 };
enum { IF = 0, WHILE = 1, SWITCH = 2 };

/** CUDA_KERNEL_NODE_PARAMS */
struct kernel_params {
  struct function *function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};

/** Its handle; kernels, which are not run, would write to the value. */
struct condition {
  unsigned value, initial, flags;
};

/** CUgraphNodeParams of a conditional node */
struct conditional_params {
  unsigned kind, reserved[3];
  struct condition *condition;
  unsigned type, bodies;
  struct graph **graphs;
  struct context *context;
};

struct node {
  int kind;
  bool isDisabled;
  struct graph *graph;
  struct node *original;     // in an executable graph: the node that it is of
  uint32_t index;            // in its graph
  uint32_t dependencyCount;
  uint32_t *dependencies;    // indices
  struct function *function;
  uint64_t blocks;
  size_t parameterBytes;
  void *parameters;
  struct box box;
  struct fill fill;
  struct event *event;
  struct condition *condition;
  unsigned type, bodyCount;
  struct graph *bodies[4];
};

struct graph {
  uint32_t count, room;
  struct node **nodes;
};

static struct graph *new_graph(void) { return calloc(1, sizeof(struct graph)); }

static void end_node(struct node *node) {
  free(node->dependencies);
  free(node->parameters);
  free(node);
}

static void end_graph(struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) end_node(graph->nodes[i]);
  free(graph->nodes);
  free(graph);
}

static void append(struct graph *graph, struct node *node) {
  if (graph->count == graph->room) {
    graph->room = graph->room ? 2 * graph->room : 8;
    graph->nodes = realloc(graph->nodes, graph->room * sizeof *graph->nodes);
  }
  node->graph = graph;
  node->index = graph->count;
  graph->nodes[graph->count++] = node;
}

API CUresult cuGraphCreate(struct graph **out, unsigned flags) {
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  *out = new_graph();
  return CUDA_SUCCESS;
}

API CUresult cuGraphDestroy(struct graph *graph) {
  end_graph(graph);
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(struct graph *exec) {
  end_graph(exec);
  return CUDA_SUCCESS;
}

// Nodes

static CUresult add(struct node **out, struct graph *graph, struct node *const *dependencies, size_t count,
                    struct node content) {
  for (size_t i = 0; i < count; i++) {
    if (dependencies[i]->graph != graph) return CUDA_ERROR_INVALID_VALUE;
  }
  struct node *node = malloc(sizeof *node);
  *node = content;
  node->dependencyCount = (uint32_t)count;
  node->dependencies = calloc(count + 1, sizeof *node->dependencies);
  for (size_t i = 0; i < count; i++) node->dependencies[i] = dependencies[i]->index;
  append(graph, node);
  *out = node;
  return CUDA_SUCCESS;
}

static CUresult read_kernel(struct node *node, const struct kernel_params *params) {
  bool packed = !params->parameters && params->extra && params->extra[0] == (void *)1 && params->extra[2] == (void *)2;
  if (!packed) return CUDA_ERROR_INVALID_VALUE;
  free(node->parameters);
  node->function = params->function;
  node->blocks = (uint64_t)params->grid[0] * params->grid[1] * params->grid[2];
  node->parameterBytes = *(size_t *)params->extra[3];
  node->parameters = malloc(node->parameterBytes + 1);
  memcpy(node->parameters, params->extra[1], node->parameterBytes);
  return CUDA_SUCCESS;
}

API CUresult cuGraphAddKernelNode_v2(struct node **out, struct graph *graph, struct node *const *dependencies,
                                     size_t count, const struct kernel_params *params) {
  struct node node = {.kind = KERNEL};
  CUresult result = read_kernel(&node, params);
  return result ? result : add(out, graph, dependencies, count, node);
}

/** Attributes that cuda.h has as CU_KERNEL_NODE_ATTRIBUTE_*, except for nodes that kernels change. */
API CUresult cuGraphKernelNodeSetAttribute(struct node *node, int id, const void *value) {
  static const int known[] = {1, 2, 4, 5, 8, 9, 10, 11, 14, 16};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i] == id && node->kind == KERNEL && value) return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGraphAddMemcpyNode(struct node **out, struct graph *graph, struct node *const *dependencies,
                                  size_t count, const struct box *box, struct context *context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return add(out, graph, dependencies, count, (struct node){.kind = COPY, .box = *box});
}

API CUresult cuGraphAddMemsetNode(struct node **out, struct graph *graph, struct node *const *dependencies,
                                  size_t count, const struct fill *fill, struct context *context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return add(out, graph, dependencies, count, (struct node){.kind = FILL, .fill = *fill});
}

API CUresult cuGraphAddEmptyNode(struct node **out, struct graph *graph, struct node *const *dependencies,
                                 size_t count) {
  return add(out, graph, dependencies, count, (struct node){.kind = EMPTY});
}

API CUresult cuGraphAddEventRecordNode(struct node **out, struct graph *graph, struct node *const *dependencies,
                                       size_t count, struct event *event) {
  return add(out, graph, dependencies, count, (struct node){.kind = EVENT_RECORD, .event = event});
}

API CUresult cuGraphAddEventWaitNode(struct node **out, struct graph *graph, struct node *const *dependencies,
                                     size_t count, struct event *event) {
  return add(out, graph, dependencies, count, (struct node){.kind = EVENT_WAIT, .event = event});
}

API CUresult cuGraphConditionalHandleCreate(struct condition **out, struct graph *graph, struct context *context,
                                            unsigned value, unsigned flags) {
  if (!graph || !context || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  *out = malloc(sizeof **out);
  **out = (struct condition){.initial = value, .flags = flags};
  return CUDA_SUCCESS;
}

API CUresult cuGraphAddNode_v2(struct node **out, struct graph *graph, struct node *const *dependencies,
                               const void *edges, size_t count, struct conditional_params *params) {
  bool good = params->kind == CONDITIONAL && !edges && params->context && params->bodies && params->bodies <= 4;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  struct node node = {
      .kind = CONDITIONAL, .condition = params->condition, .type = params->type, .bodyCount = params->bodies};
  for (unsigned i = 0; i < params->bodies; i++) node.bodies[i] = new_graph();
  CUresult result = add(out, graph, dependencies, count, node);
  if (!result) params->graphs = (*out)->bodies;
  return result;
}

API CUresult cuGraphDestroyNode(struct node *node) {
  struct graph *graph = node->graph;
  if (node->index + 1 != graph->count) return CUDA_ERROR_INVALID_VALUE;  // the worker takes back the last alone
  graph->count--;
  end_node(node);
  return CUDA_SUCCESS;
}

// Executable graphs; bodies are not copied with the graph that they are in

API CUresult cuGraphInstantiateWithFlags(struct graph **out, struct graph *graph, unsigned long long flags) {
  if (flags & ~15ull) return CUDA_ERROR_INVALID_VALUE;
  struct graph *exec = new_graph();
  for (uint32_t i = 0; i < graph->count; i++) {
    const struct node *original = graph->nodes[i];
    struct node *node = malloc(sizeof *node);
    *node = *original;
    node->original = graph->nodes[i];
    node->dependencies = calloc(original->dependencyCount + 1, sizeof *node->dependencies);
    memcpy(node->dependencies, original->dependencies, original->dependencyCount * sizeof *node->dependencies);
    if (original->parameters) {
      node->parameters = malloc(original->parameterBytes + 1);
      memcpy(node->parameters, original->parameters, original->parameterBytes);
    }
    append(exec, node);
  }
  *out = exec;
  return CUDA_SUCCESS;
}

static struct node *executed(struct graph *exec, struct node *node) {
  bool isCopied = node->index < exec->count && exec->nodes[node->index]->original == node;
  return isCopied ? exec->nodes[node->index] : node;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(struct graph *exec, struct node *node,
                                               const struct kernel_params *params) {
  return read_kernel(executed(exec, node), params);
}

API CUresult cuGraphExecMemcpyNodeSetParams(struct graph *exec, struct node *node, const struct box *box,
                                            struct context *context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  executed(exec, node)->box = *box;
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecMemsetNodeSetParams(struct graph *exec, struct node *node, const struct fill *fill,
                                            struct context *context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  executed(exec, node)->fill = *fill;
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecEventRecordNodeSetEvent(struct graph *exec, struct node *node, struct event *event) {
  executed(exec, node)->event = event;
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecEventWaitNodeSetEvent(struct graph *exec, struct node *node, struct event *event) {
  executed(exec, node)->event = event;
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecNodeSetParams(struct graph *exec, struct node *node,
                                      const struct conditional_params *params) {
  if (params->kind != CONDITIONAL) return CUDA_ERROR_INVALID_VALUE;
  executed(exec, node)->condition = params->condition;
  return CUDA_SUCCESS;
}

API CUresult cuGraphNodeSetEnabled(struct graph *exec, struct node *node, unsigned enabled) {
  executed(exec, node)->isDisabled = !enabled;
  return CUDA_SUCCESS;
}

API CUresult cuGraphUpload(struct graph *exec, struct stream *stream) {
  (void)exec; (void)stream;
  struct context *context;
  return api_end(api_begin(&context));
}

// Launches

static CUresult run(struct graph *graph, struct stream *stream);

/** The work of a node that is one work, or NULL with *result. */
static struct work *node_work(struct node *node, struct stream *stream, CUresult *result) {
  struct work *work = NULL;
  switch (node->isDisabled ? EMPTY : node->kind) {
    case KERNEL:
      *result = function_load(node->function);
      if (*result) return NULL;
      return launch_work(node->function, stream, node->blocks, node->parameters, node->parameterBytes);
    case COPY:
      work = box_work(stream, &node->box);
      break;
    case FILL:
      work = fill_work(stream, &node->fill);
      break;
    default:
      return stream_work(stream, WORK_MARK, 0);
  }
  if (!work) *result = CUDA_ERROR_INVALID_VALUE;
  return work;
}

/** No kernel has set the condition: it is what launches begin with, once. */
static CUresult run_conditional(const struct node *node, struct stream *stream) {
  unsigned value = node->condition->flags ? node->condition->initial : node->condition->value;
  if (node->type == SWITCH) return value < node->bodyCount ? run(node->bodies[value], stream) : CUDA_SUCCESS;
  if (value) return run(node->bodies[0], stream);
  return node->type == IF && node->bodyCount > 1 ? run(node->bodies[1], stream) : CUDA_SUCCESS;
}

/** Nodes that are not one work are in the stream's order, like all that is not launched by a graph. */
static bool is_in_order(const struct graph *graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    if (graph->nodes[i]->kind >= EVENT_WAIT) return true;
  }
  return false;
}

static CUresult run_in_order(struct graph *graph, struct stream *stream) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < graph->count && !result; i++) {
    struct node *node = graph->nodes[i];
    switch (node->isDisabled ? EMPTY : node->kind) {
      case EVENT_WAIT:
        event_wait(node->event, stream);
        break;
      case EVENT_RECORD:
        result = event_record(node->event, stream);
        break;
      case CONDITIONAL:
        result = run_conditional(node, stream);
        break;
      default: {
        struct work *work = node_work(node, stream, &result);
        if (work) stream_submit(stream, work);
      }
    }
  }
  return result;
}

static CUresult run(struct graph *graph, struct stream *stream) {
  if (is_in_order(graph)) return run_in_order(graph, stream);
  CUresult result = CUDA_SUCCESS;
  struct work *begin = stream_work(stream, WORK_MARK, 0), *end = stream_work(stream, WORK_MARK, 0);
  struct work **works = calloc(graph->count + 1, sizeof *works);
  stream_submit(stream, work_keep(begin));
  for (uint32_t i = 0; i < graph->count && !result; i++) {
    struct node *node = graph->nodes[i];
    works[i] = node_work(node, stream, &result);
    if (!works[i]) break;
    if (!node->dependencyCount) work_follow(works[i], begin);
    for (uint32_t d = 0; d < node->dependencyCount; d++) work_follow(works[i], works[node->dependencies[d]]);
    work_follow(end, works[i]);
    work_submit(works[i]);
  }
  for (uint32_t i = 0; i < graph->count && works[i]; i++) work_drop(works[i]);
  free(works);
  work_drop(begin);
  stream_submit(stream, end);
  return result;
}

API CUresult cuGraphLaunch(struct graph *exec, struct stream *handle) {
  struct context *context;
  CUresult result = api_begin(&context);
  return api_end(result ? result : run(exec, stream_of(context, handle)));
}
