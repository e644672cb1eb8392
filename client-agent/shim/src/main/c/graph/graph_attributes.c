// SPDX-License-Identifier: Apache-2.0
// Launch attributes of kernel nodes.
#include "graph/graph.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum {
  LAST_ATTRIBUTE = LAUNCH_ATTRIBUTE_NVLINK_SCHEDULING,
};

static struct launch_attribute *find(const struct kernel_work *kernel, CUkernelNodeAttrID id) {
  for (uint32_t i = 0; i < kernel->attributeCount; i++) {
    if (kernel->attributes[i].id == (uint32_t)id) return &kernel->attributes[i];
  }
  return NULL;
}

static struct graph_node *kernel_node(CUgraphNode handle) {
  struct graph_node *node = node_find(handle);
  return node && node->work.type == NODE_KERNEL ? node : NULL;
}

static bool known(CUkernelNodeAttrID attr) {
  return attr > 0 && attr <= LAST_ATTRIBUTE && attr != LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
         attr != LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
}

CUresult shim_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                            CUkernelNodeAttrValue *value_out) {
  if (!value_out || !known(attr)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph_node *node = kernel_node(hNode);
  const struct launch_attribute *attribute = node ? find(&node->work.kernel, attr) : NULL;
  memset(value_out, 0, sizeof *value_out);
  if (attribute) memcpy(value_out, attribute->value, sizeof *value_out);
  lock_release(&graphLock);
  return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** The lock is held. */
static CUresult set(struct kernel_work *kernel, CUkernelNodeAttrID attr,
                    const CUkernelNodeAttrValue *value) {
  struct launch_attribute *attribute = find(kernel, attr);
  if (!attribute) {
    struct launch_attribute *more =
        realloc(kernel->attributes, (kernel->attributeCount + 1) * sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    kernel->attributes = more;
    attribute = &more[kernel->attributeCount++];
  }
  *attribute = (struct launch_attribute){.id = (uint32_t)attr};
  memcpy(attribute->value, value, sizeof attribute->value);
  return CUDA_SUCCESS;
}

CUresult shim_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                            const CUkernelNodeAttrValue *value) {
  if (!value || !known(attr)) return CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  struct graph_node *node = kernel_node(hNode);
  CUresult result = node ? set(&node->work.kernel, attr, value) : CUDA_ERROR_INVALID_VALUE;
  lock_release(&graphLock);
  return result;
}

CUresult shim_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  lock_take(&graphLock);
  const struct graph_node *from = kernel_node(src);
  struct graph_node *to = kernel_node(dst);
  if (from && to) {
    result = CUDA_SUCCESS;
    for (uint32_t i = 0; from != to && i < from->work.kernel.attributeCount && !result; i++) {
      const struct launch_attribute *attribute = &from->work.kernel.attributes[i];
      CUkernelNodeAttrValue value;
      memcpy(&value, attribute->value, sizeof value);
      result = set(&to->work.kernel, (CUkernelNodeAttrID)attribute->id, &value);
    }
  }
  lock_release(&graphLock);
  return result;
}
