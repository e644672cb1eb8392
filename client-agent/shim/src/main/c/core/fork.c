// SPDX-License-Identifier: Apache-2.0
#include "core/fork.h"

#include "stream/host_func.h"
#include "graph/capture.h"
#include "context/context.h"
#include "context/device.h"
#include "graph/graph.h"
#include "graph/graph_memory.h"
#include "stream/green_context.h"
#include "core/handles.h"
#include "transport/connection.h"
#include "module/jit_link.h"
#include "memory/managed_memory.h"
#include "memory/mapped_memory.h"
#include "memory/memory.h"
#include "memory/mirror.h"
#include "memory/mirror_wait.h"
#include "module/module.h"
#include "memory/va_reservation.h"
#include "memory/memory_pool.h"
#include "transport/session.h"
#include "memory/share_token.h"
#include "stream/stream.h"
#include "texture/texture_object.h"
#include "context/thread.h"
#include "core/trace.h"
#include "memory/va_map.h"
#include "graph/user_object.h"
#include "memory/virtual_memory.h"

#include <pthread.h>

/** In the child, which has this one thread and may hold any lock of a thread that is gone. */
static void forget(void) {
  trace_reset();
  session_reset();
  connections_reset();
  host_func_reset();
  handles_reset();
  contexts_reset();
  devices_reset();
  memory_reset();
  mirrors_reset();
  mirror_wait_reset();
  managed_reset();
  mapped_reset();
  va_reservations_reset();
  va_maps_reset();
  virtual_reset();
  ipc_reset();
  pools_reset();
  linkers_reset();
  functions_reset();
  streams_reset();
  textures_reset();
  greens_reset();
  graphs_reset();
  graph_memory_reset();
  captures_reset();
  user_objects_reset();
  thread_reset();
}

static void watch(void) { pthread_atfork(NULL, NULL, forget); }

void fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}
