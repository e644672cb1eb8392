// SPDX-License-Identifier: Apache-2.0
// The tables behind cuGetExportTable that runtime libraries ask for: docs/design/export-tables.md.
#include "collective/nccl_table.h"
#include "compat/hmac_md2.h"
#include "context/context.h"
#include "context/context_local_storage.h"
#include "core/log.h"
#include "core/trace.h"
#include "module/library.h"
#include "shim.h"
#include "transport/device_table.h"
#include "transport/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Begins a table that says how long it is. */
#define TABLE_BYTES(slots) ((const void *)((slots) * sizeof(void *)))

/** Notes that a slot was called. */
static void slot_called(const char *table, int slot) {
  if (tracing()) trace_note("export slot", "%s, %d", table, slot);
}

/** A slot of which no use is known. */
#define UNKNOWN_SLOT(name, table, slot) \
  static CUresult name##slot(void) {    \
    slot_called(table, slot);           \
    return CUDA_SUCCESS;                \
  }

// Runtime interface

static CUresult runtime_load_module(CUmodule *module, const void *fatbin) {
  return shim_cuModuleLoadFatBinary(module, fatbin);
}

/** The primary context of a device, retained. */
static CUresult runtime_primary_context(CUcontext *context, CUdevice device) {
  return session_ready() ? shim_cuDevicePrimaryCtxRetain(context, device) : session_answer();
}

static CUresult runtime_load_module_ext(CUmodule *module, const void *fatbin, void *unused1,
                                        void *unused2, unsigned int flags) {
  (void)unused1, (void)unused2, (void)flags;
  return shim_cuModuleLoadFatBinary(module, fatbin);
}

static CUresult runtime_load_fatbin(const void *fatbin, CUmodule *module, void *unused1,
                                    void *unused2, unsigned int flags) {
  return runtime_load_module_ext(module, fatbin, unused1, unused2, flags);
}

UNKNOWN_SLOT(runtime_slot_, "runtime interface", 3)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 4)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 5)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 7)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 9)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 10)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 11)
UNKNOWN_SLOT(runtime_slot_, "runtime interface", 12)

static const void *const runtimeInterface[] = {
    TABLE_BYTES(13),
    runtime_load_module,
    runtime_primary_context,
    runtime_slot_3,
    runtime_slot_4,
    runtime_slot_5,
    runtime_load_module_ext,
    runtime_slot_7,
    runtime_load_fatbin,
    runtime_slot_9,
    runtime_slot_10,
    runtime_slot_11,
    runtime_slot_12,
};

// Tools hooks: buffers in which a tool would set which calls it wants to be told of

enum { TOOLS_CALLS = 1024, TOOLS_DOMAINS = 16 };

// Larger than what is told, for callers that count in other units.
static uint32_t toolsCalls[4 * TOOLS_CALLS];
static uint32_t toolsDomains[4 * TOOLS_DOMAINS];

static void tools_calls(void **buffer, size_t *count) {
  *buffer = toolsCalls;
  *count = TOOLS_CALLS;
}

static void tools_domains(void **buffer, size_t *count) {
  *buffer = toolsDomains;
  *count = TOOLS_DOMAINS - 2;
}

UNKNOWN_SLOT(tools_slot_, "tools hooks", 1)
UNKNOWN_SLOT(tools_slot_, "tools hooks", 3)
UNKNOWN_SLOT(tools_slot_, "tools hooks", 4)
UNKNOWN_SLOT(tools_slot_, "tools hooks", 5)

static const void *const toolsHooks[] = {
    TABLE_BYTES(7), tools_slot_1, tools_calls,   tools_slot_3,
    tools_slot_4,   tools_slot_5, tools_domains,
};

/** The current context of this thread, of which a tool keeps something. */
static CUresult local_context(CUcontext *context) {
  slot_called("tools' thread-local storage", 2);
  return shim_cuCtxGetCurrent(context);
}

UNKNOWN_SLOT(local_slot_, "tools' thread-local storage", 1)
UNKNOWN_SLOT(local_slot_, "tools' thread-local storage", 3)

static const void *const toolsThreadLocal[] = {
    TABLE_BYTES(4),
    local_slot_1,
    local_context,
    local_slot_3,
};

// Context queries: cuBLAS and cuFFT tell contexts and streams apart by numbers that never come back

static CUresult unknown_query(void) {
  if (tracing()) trace_note("export slot", "queries, one that is not known");
  log_line(LOG_INFO, "an unknown slot of an export table of queries was called");
  return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult context_device(CUcontext context, CUdevice *device) {
  slot_called("context queries", 3);
  return shim_cuCtxGetDevice_v2(device, context);
}

static CUresult context_id(CUcontext context, unsigned long long *id) {
  slot_called("context queries", 4);
  return shim_cuCtxGetId(context, id);
}

static CUresult stream_id(CUcontext context, CUstream stream, unsigned long long *id) {
  (void)context;
  slot_called("context queries", 39);
  return id ? shim_cuStreamGetId(stream, id) : CUDA_ERROR_INVALID_VALUE;
}

/** A stream inside the driver: here it is the stream itself. */
static CUresult stream_object(CUcontext context, CUstream stream, CUstream *inner,
                                      int perThread) {
  (void)context;
  slot_called("context queries", 51);
  if (!inner) return CUDA_ERROR_INVALID_VALUE;
  *inner = stream ? stream : perThread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  return CUDA_SUCCESS;
}

enum { QUERY_SLOTS = 94 };

static const void *const contextQueries[QUERY_SLOTS] = {
    TABLE_BYTES(QUERY_SLOTS),
    unknown_query,
    unknown_query,
    context_device,
    context_id,
    [5 ... 38] = unknown_query,
    [39] = stream_id,
    [40 ... 50] = unknown_query,
    [51] = stream_object,
    [52 ... QUERY_SLOTS - 1] = unknown_query,
};

// Context-local storage

UNKNOWN_SLOT(storage_slot_, "context-local storage", 3)

static const void *const contextStorage[] = {
    storage_put,
    storage_remove,
    storage_get,
    storage_slot_3,
};

// Context checks: bits of a context that matter to other kinds of drivers

static CUresult check_context(CUcontext context, uint32_t *state, const void **detail) {
  (void)context, (void)detail;
  slot_called("context checks", 2);
  if (state) *state = 0;
  return CUDA_SUCCESS;
}

static uint32_t check_1(void) {
  slot_called("context checks", 1);
  return 0;
}

static uint32_t check_3(void) {
  slot_called("context checks", 3);
  return 0;
}

static const void *const contextChecks[] = {
    TABLE_BYTES(4),
    check_1,
    check_context,
    check_3,
};

// Integrity check: a keyed digest over what driver and runtime both know

static CUresult integrity_check(uint32_t version, uint64_t unixSeconds, uint64_t result[2]);

UNKNOWN_SLOT(integrity_slot_, "integrity check", 2)

static const void *const integrityCheck[] = {
    TABLE_BYTES(3),
    integrity_check,
    integrity_slot_2,
};

struct integrity_input {
  uint32_t driverVersion;
  uint32_t version;
  uint32_t process;
  uint32_t thread;
  const void *runtimeInterface;
  const void *integrityCheck;
  const void *function;
  uint64_t unixSeconds;
};

struct integrity_device {
  uint8_t uuid[16];
  int32_t pciDomain, pciBus, pciDevice;
};

static CUresult integrity_check(uint32_t version, uint64_t unixSeconds, uint64_t result[2]) {
  static const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                  0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
  // The last decimal digit chooses the form of the answer.
  if (version % 10 < 2) {
    result[0] = version % 10 ? 0x1841181c03cb675c : 0x3341181c03cb675c;
    result[1] = 0x8ed383aa1f4cd1e8;
    return CUDA_SUCCESS;
  }
  int driverVersion;
  shim_cuDriverGetVersion(&driverVersion);
  struct integrity_input input = {
      .driverVersion = (uint32_t)driverVersion,
      .version = version,
      .process = (uint32_t)getpid(),
      .thread = (uint32_t)pthread_self(),
      .runtimeInterface = runtimeInterface,
      .integrityCheck = integrityCheck,
      .function = integrityCheck[1],
      .unixSeconds = unixSeconds,
  };
  struct hmac_md2 hmac;
  hmac_begin(&hmac, key);
  hmac_add(&hmac, &input, sizeof input);
  for (uint32_t i = 0; i < devices_count(); i++) {
    struct integrity_device device = {
        .pciDomain = device_attribute((CUdevice)i, ATTRIBUTE_PCI_DOMAIN_ID),
        .pciBus = device_attribute((CUdevice)i, ATTRIBUTE_PCI_BUS_ID),
        .pciDevice = device_attribute((CUdevice)i, ATTRIBUTE_PCI_DEVICE_ID),
    };
    memcpy(device.uuid, device_find((CUdevice)i)->uuid, sizeof device.uuid);
    hmac_add(&hmac, &device, sizeof device);
  }
  hmac_end(&hmac, (uint8_t *)result);
  return CUDA_SUCCESS;
}

// Module queries: cuFFT takes a module's function from here, not by its name

typedef void visit_function(void *opaque, CUfunction function, uint64_t owner);

/** Shows each function of a module; 1: all were shown. */
static uint32_t visit_functions(CUcontext context, CUmodule handle, visit_function *visit,
                                void *opaque, CUmodule owner) {
  (void)context;
  slot_called("module queries", 7);
  CUfunction *found;
  unsigned int count;
  if (shim_cuModuleGetFunctionCount(&count, handle) || !visit) return 0;
  found = calloc(count + 1, sizeof(CUfunction));
  if (!found || (count && shim_cuModuleEnumerateFunctions(found, count, handle))) {
    free(found);
    return 0;
  }
  for (unsigned int i = 0; i < count; i++) visit(opaque, found[i], (uint64_t)(uintptr_t)owner);
  free(found);
  return 1;
}

enum { MODULE_QUERY_SLOTS = 128 };  // a driver's has 92, more with each version

static const void *const moduleQueries[MODULE_QUERY_SLOTS] = {
    TABLE_BYTES(MODULE_QUERY_SLOTS),
    [1 ... 6] = unknown_query,
    [7] = visit_functions,
    [8 ... MODULE_QUERY_SLOTS - 1] = unknown_query,
};

// Layout of a card's multiprocessors, by which cuBLASLt places blocks; it does without where that is not told

static CUresult layout_untold(void) {
  slot_called("multiprocessor layout", 4);
  return CUDA_ERROR_NOT_SUPPORTED;
}

enum { LAYOUT_SLOTS = 16 };

static const void *const multiprocessorLayout[LAYOUT_SLOTS] = {
    TABLE_BYTES(LAYOUT_SLOTS),
    [1 ... LAYOUT_SLOTS - 1] = layout_untold,
};

static const struct {
  const char *name;
  uint8_t id[16];
  const void *const *table;
} tables[] = {
    {"runtime interface",
     {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9},
     runtimeInterface},
    {"tools hooks",
     {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66},
     toolsHooks},
    {"tools' thread-local storage",
     {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc},
     toolsThreadLocal},
    {"context-local storage",
     {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93},
     contextStorage},
    {"context checks",
     {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e},
     contextChecks},
    {"context queries",
     {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2},
     contextQueries},
    {"module queries",
     {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e},
     moduleQueries},
    {"multiprocessor layout",
     {0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
      0xca},
     multiprocessorLayout},
    {"integrity check",
     {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2},
     integrityCheck},
    {"gpupool's NCCL",
     {'g', 'p', 'u', 'p', 'o', 'o', 'l', '-', 'n', 'c', 'c', 'l', '-', 't', 'a', 'b'},
     (const void *const *)(const void *)&ncclTable},
};

/** An identifier as it is written. */
static void write_id(char text[40], const CUuuid *id) {
  char *at = text;
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    at += sprintf(at, "%02x", (uint8_t)id->bytes[i]);
  }
}

CUresult shim_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId) {
  if (!ppExportTable || !pExportTableId) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = NULL;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (memcmp(tables[i].id, pExportTableId->bytes, sizeof tables[i].id) == 0) {
      if (tracing()) trace_note("export table", "%s", tables[i].name);
      *ppExportTable = tables[i].table;
      return CUDA_SUCCESS;
    }
  }
  char id[40];
  write_id(id, pExportTableId);
  log_line(LOG_INFO, "no export table %s", id);
  if (tracing()) trace_note("no export table", "%s", id);
  return CUDA_ERROR_INVALID_VALUE;
}
