// SPDX-License-Identifier: Apache-2.0
// Operators of reductions: those that always exist, and those that a program makes for a communicator.
#pragma once

#include "collective/communicator.h"

enum { NCCL_TYPES = 12 };

/** The bytes of an element; 0: there is no such type. */
uint32_t nccl_type_bytes(int type);

int operator_make(int *made, const void *scalar, int type, int immediate, struct communicator *handle);
int operator_end(int operator, struct communicator *handle);

/** Writes an operator for elements of a type into a call. */
int operator_apply(struct communicator *communicator, int operator, int type, struct collective_call *call);
