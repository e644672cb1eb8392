// SPDX-License-Identifier: Apache-2.0
#include "core/ranges.h"

#include <stdatomic.h>
#include <stdlib.h>

struct range_node {
  struct range range;
  uint32_t priority;
  struct range_node *left, *right;
};

/** Splits by address: nodes that begin before it go left. */
static void split(struct range_node *node, uint64_t base, struct range_node **left,
                  struct range_node **right) {
  if (!node) {
    *left = *right = NULL;
  } else if (node->range.base < base) {
    split(node->right, base, &node->right, right);
    *left = node;
  } else {
    split(node->left, base, left, &node->left);
    *right = node;
  }
}

static struct range_node *merge(struct range_node *left, struct range_node *right) {
  if (!left) return right;
  if (!right) return left;
  if (left->priority > right->priority) {
    left->right = merge(left->right, right);
    return left;
  }
  right->left = merge(left, right->left);
  return right;
}

/** The last node that begins at or before an address. */
static struct range_node *floor_node(struct range_node *node, uint64_t address) {
  struct range_node *best = NULL;
  while (node) {
    if (node->range.base <= address) {
      best = node;
      node = node->right;
    } else {
      node = node->left;
    }
  }
  return best;
}

static struct range_node *covering(struct ranges *ranges, uint64_t address) {
  struct range_node *node = floor_node(ranges->root, address);
  return node && address - node->range.base < node->range.bytes ? node : NULL;
}

static struct range_node *detach(struct ranges *ranges, uint64_t base) {
  struct range_node *left, *middle, *right;
  split(ranges->root, base, &left, &right);
  split(right, base + 1, &middle, &right);
  ranges->root = merge(left, right);
  return middle;
}

/** A node with a byte of these, or NULL. */
static struct range_node *overlapping(struct ranges *ranges, uint64_t base, uint64_t bytes) {
  if (!bytes) return NULL;
  struct range_node *node = floor_node(ranges->root, base + bytes - 1);
  return node && node->range.base + node->range.bytes > base ? node : NULL;
}

bool ranges_add(struct ranges *ranges, const struct range *range) {
  struct range_node *node = calloc(1, sizeof *node);
  if (!node) return false;
  node->range = *range;
  lock_take(&ranges->lock);
  for (struct range_node *old; (old = overlapping(ranges, range->base, range->bytes));) {
    free(detach(ranges, old->range.base));
  }
  ranges->seed = ranges->seed * 1664525u + 1013904223u;
  node->priority = ranges->seed;
  struct range_node *left, *right;
  split(ranges->root, range->base, &left, &right);
  ranges->root = merge(merge(left, node), right);
  lock_release(&ranges->lock);
  return true;
}

bool ranges_empty(const struct ranges *ranges) {
  return !atomic_load_explicit(&ranges->root, memory_order_relaxed);
}

bool ranges_find(struct ranges *ranges, uint64_t address, struct range *found) {
  lock_take(&ranges->lock);
  struct range_node *node = covering(ranges, address);
  if (node && found) *found = node->range;
  lock_release(&ranges->lock);
  return node != NULL;
}

bool ranges_overlap(struct ranges *ranges, uint64_t base, uint64_t bytes) {
  lock_take(&ranges->lock);
  bool overlap = overlapping(ranges, base, bytes) != NULL;
  lock_release(&ranges->lock);
  return overlap;
}

uint64_t ranges_next(struct ranges *ranges, uint64_t address, uint64_t limit) {
  lock_take(&ranges->lock);
  for (struct range_node *node = ranges->root; node;) {
    if (node->range.base < address) {
      node = node->right;
    } else {
      if (node->range.base < limit) limit = node->range.base;
      node = node->left;
    }
  }
  lock_release(&ranges->lock);
  return limit;
}

bool ranges_remove(struct ranges *ranges, uint64_t base, struct range *removed) {
  lock_take(&ranges->lock);
  struct range_node *node = detach(ranges, base);
  lock_release(&ranges->lock);
  if (!node) return false;
  if (removed) *removed = node->range;
  free(node);
  return true;
}

static struct range_node *first_of(struct range_node *node, uint64_t contextId) {
  if (!node) return NULL;
  if (node->range.contextId == contextId) return node;
  struct range_node *found = first_of(node->left, contextId);
  return found ? found : first_of(node->right, contextId);
}

void ranges_forget(struct ranges *ranges, uint64_t contextId) {
  lock_take(&ranges->lock);
  for (struct range_node *node; (node = first_of(ranges->root, contextId));) {
    free(detach(ranges, node->range.base));
  }
  lock_release(&ranges->lock);
}

bool ranges_set_sync(struct ranges *ranges, uint64_t address, bool syncMemops) {
  lock_take(&ranges->lock);
  struct range_node *node = covering(ranges, address);
  if (node) node->range.syncMemops = syncMemops;
  lock_release(&ranges->lock);
  return node != NULL;
}
