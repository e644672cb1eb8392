// SPDX-License-Identifier: Apache-2.0
// Communicators of NCCL: one rank of each on the client's side. The ranks meet on the servers; the client asks there how
// far a communicator is.
#pragma once

#include "collective/nccl_interface.h"
#include "context/context.h"
#include "core/handles.h"

/** An operator that multiplies each rank's elements by a scalar before they are added up. */
struct reduce_operator {
  bool live, inMemory;
  uint32_t type;
  uint64_t scalar;  // its bytes, or its address
};

struct communicator {
  struct slot slot;
  struct lock lock;  // of state, text and operators
  struct context *context;
  uint64_t contextId;
  uint64_t id;  // never used again
  CUdevice device;
  uint32_t ranks, rank;
  bool blocking;
  bool retains;     // the primary context of its device
  bool colourless;  // of a split, without any rank
  bool finished;    // by ncclCommFinalize
  int state;        // enum nccl_result: what the server has said so far
  struct communicator *child;  // a split that the program does not wait for; NULL: none
  uint64_t childId;
  uint8_t *connected;  // by rank: the ways of transfers that there are, CONNECTED_TO and CONNECTED_FROM
  struct reduce_operator *operators;
  uint32_t operatorCount;
  char text[NCCL_TEXT_BYTES];  // of the state, if it is an error
};

/** Bits of a communicator's connections with another rank. */
enum { CONNECTED_TO = 1, CONNECTED_FROM = 2 };

extern struct arena communicators;

/** A communicator of a context that the server does not know yet; NULL if there are too many. */
struct communicator *communicator_make(struct context *context);

/** Finds a communicator, in whatever state. */
int communicator_find(struct communicator *handle, struct communicator **communicator);

/** Finds a communicator that can be used. */
int communicator_ready(struct communicator *handle, struct communicator **communicator);

/** The error of a communicator whose context is gone or broken. */
CUresult communicator_context(const struct communicator *communicator);

/** Asks the server for the state, which it returns; pending, if not NULL: how many calls are not complete. */
int communicator_ask(struct communicator *communicator, uint64_t *pending);

/** A pause between two questions, which makes itself longer. */
void communicator_pause(uint64_t *nanos);

/** Waits until the calls of a communicator are complete. */
int communicator_drain(struct communicator *communicator);

/** Sends calls, which run as one in a stream of `context`. */
CUresult communicator_send(const struct communicator *communicator, struct context *context, uint32_t stream,
                           const struct collective_call *calls, uint32_t count);

/** Has the server connect ranks before their first transfers in these calls; *begun: it has to be waited for. */
int communicator_connect(struct communicator *communicator, const struct collective_call *calls, uint32_t count,
                         bool *begun);

/** Ends a communicator here and on the server. */
void communicator_end(struct communicator *communicator);
