// SPDX-License-Identifier: Apache-2.0
// The plan of an executable graph: its nodes, those of child graphs among them, in an order that their
// edges allow, and cut into phases. Phases of even number are what the shim has to do with each launch,
// copies of host memory and host functions; those of odd number are graphs of the worker. One phase
// comes after the other in the stream of a launch.
#pragma once

#include <stdint.h>

struct graph_node;

enum { NO_STEP = UINT32_MAX };

enum step_kind {
  STEP_NOTHING,  // only edges
  STEP_DEVICE,
  STEP_HOST,
};

struct step {
  struct graph_node *node;
  uint8_t kind;  // enum step_kind
  uint32_t phase;
  uint32_t index;                   // in its phase
  uint32_t firstAfter, afterCount;  // of the plan's list
};

struct phase {
  uint32_t first, count;  // of the plan's order
  uint32_t graph;         // the worker's number of it; 0: none
};

struct plan {
  struct step *steps;
  uint32_t stepCount, stepCapacity;
  uint32_t *after;  // steps that others come after
  uint32_t afterCount, afterCapacity;
  uint32_t *order;  // steps by phase
  struct phase *phases;
  uint32_t phaseCount;
};

void plan_free(struct plan *plan);
