// SPDX-License-Identifier: Apache-2.0
#include "fork.h"

#include "callback.h"
#include "capture.h"
#include "context.h"
#include "device.h"
#include "graph.h"
#include "graph_memory.h"
#include "green.h"
#include "handles.h"
#include "link.h"
#include "linker.h"
#include "managed.h"
#include "mapped.h"
#include "memory.h"
#include "mirror.h"
#include "mirror_wait.h"
#include "module.h"
#include "place.h"
#include "pool.h"
#include "session.h"
#include "share.h"
#include "stream.h"
#include "texture.h"
#include "thread.h"
#include "trace.h"
#include "twin.h"
#include "user_object.h"
#include "virtual.h"

#include <pthread.h>

/** In the child, which has this one thread and may hold any lock of a thread that is gone. */
static void forget(void) {
  trace_reset();
  session_reset();
  links_reset();
  callback_reset();
  handles_reset();
  contexts_reset();
  devices_reset();
  memory_reset();
  mirrors_reset();
  mirror_wait_reset();
  managed_reset();
  mapped_reset();
  place_reset();
  twins_reset();
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
