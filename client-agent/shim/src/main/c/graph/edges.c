// SPDX-License-Identifier: Apache-2.0
#include "graph/edges.h"

#include <stdlib.h>
#include <string.h>

bool edges_add(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data) {
  if (edges->count == edges->capacity) {
    uint32_t capacity = edges->capacity ? 2 * edges->capacity : 4;
    CUgraphNode *nodes = realloc(edges->nodes, capacity * sizeof *nodes);
    if (!nodes) return false;
    edges->nodes = nodes;
    CUgraphEdgeData *list = realloc(edges->data, capacity * sizeof *list);
    if (!list) return false;
    edges->data = list;
    edges->capacity = capacity;
  }
  edges->nodes[edges->count] = node;
  edges->data[edges->count++] = data ? *data : (CUgraphEdgeData){0};
  return true;
}

static uint32_t edges_index(const struct edges *edges, CUgraphNode node) {
  uint32_t i = 0;
  while (i < edges->count && edges->nodes[i] != node) i++;
  return i;
}

bool edges_have(const struct edges *edges, CUgraphNode node) {
  return edges_index(edges, node) < edges->count;
}

bool edges_remove(struct edges *edges, CUgraphNode node, const CUgraphEdgeData *data) {
  uint32_t i = edges_index(edges, node);
  if (i == edges->count || (data && memcmp(data, &edges->data[i], sizeof *data) != 0)) return false;
  edges->count--;
  memmove(edges->nodes + i, edges->nodes + i + 1, (edges->count - i) * sizeof *edges->nodes);
  memmove(edges->data + i, edges->data + i + 1, (edges->count - i) * sizeof *edges->data);
  return true;
}

void edges_clear(struct edges *edges) {
  free(edges->nodes);
  free(edges->data);
  *edges = (struct edges){0};
}

bool edges_copy(struct edges *to, const struct edges *from) {
  struct edges copy = {0};
  for (uint32_t i = 0; i < from->count; i++) {
    if (!edges_add(&copy, from->nodes[i], &from->data[i])) {
      edges_clear(&copy);
      return false;
    }
  }
  edges_clear(to);
  *to = copy;
  return true;
}

bool edges_annotated(const struct edges *edges) {
  static const CUgraphEdgeData none;
  for (uint32_t i = 0; i < edges->count; i++) {
    if (memcmp(&edges->data[i], &none, sizeof none) != 0) return true;
  }
  return false;
}
