// SPDX-License-Identifier: Apache-2.0
// A test's other end, and a context on it.
#pragma once

#include "exports.h"
#include "harness.h"
#include "peer.h"

static struct peer peer;

/** Starts the other end, and makes a context of its GPU current. */
static inline CUcontext begin(void) {
  CUcontext context;
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  return context;
}
