// SPDX-License-Identifier: Apache-2.0
// A lease's memory as a limit: every way to allocate is refused when it is reached, takes what it says, and
// gives back at once what is freed; cuMemGetInfo agrees with all that is allocated after each of many
// random operations (argument: how many; 500). 100,000 small allocations are counted to the byte.
// memory: 256Mi
#include <algorithm>
#include <functional>
#include <string>

#include "driver_entry.h"

static const size_t MIB = 1 << 20;
static size_t total;
static CUstream stream;
static CUmemoryPool made_pool;
static CUmemAllocationProp prop;

static size_t free_bytes() {
  size_t now, all;
  DRIVER(ENTRY(cuMemGetInfo)(&now, &all));
  REQUIRE(all == total, "the GPU has %zu bytes instead of %zu", all, total);
  return now;
}

// The values that the release of an allocation needs.
struct Held {
  uint64_t handle = 0;
  uint64_t second = 0;
  uint64_t address = 0;
};

// A way to allocate: about so many bytes, of which it may take `slack` more or less.
struct Kind {
  const char *name;
  size_t slack;
  std::function<CUresult(size_t bytes, Held *held)> take;
  std::function<void(const Held &)> release;
};

static CUresult array_of(size_t bytes, CUarray *array) {
  CUDA_ARRAY_DESCRIPTOR shape = {4096, bytes / (4096 * 4), CU_AD_FORMAT_FLOAT, 1};
  return ENTRY(cuArrayCreate)(array, &shape);
}

static CUDA_ARRAY3D_DESCRIPTOR volume(size_t bytes, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = 256;
  shape.Height = 256;
  shape.Depth = bytes / (256 * 256 * 16);
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 4;
  shape.Flags = flags;
  return shape;
}

static std::string module_with(size_t bytes) {
  return ".version 7.0\n.target sm_70\n.address_size 64\n"
         ".visible .global .align 16 .b8 big[" + std::to_string(bytes) + "];\n"
         ".visible .entry touch() { ret; }\n";
}

static CUmemPoolProps pool_props() {
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return props;
}

static void drop_graph(const Held &held) {
  if (held.second) {
    DRIVER(ENTRY(cuGraphExecDestroy)(reinterpret_cast<CUgraphExec>(held.second)));
  }
  DRIVER(ENTRY(cuGraphDestroy)(reinterpret_cast<CUgraph>(held.handle)));
}

// A graph that allocates, and keeps its memory until it is destroyed.
static CUresult graph_memory(size_t bytes, Held *held) {
  CUgraph graph;
  DRIVER(ENTRY(cuGraphCreate)(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps = pool_props();
  params.bytesize = bytes;
  CUgraphNode node;
  CUresult result = ENTRY(cuGraphAddMemAllocNode)(&node, graph, nullptr, 0, &params);
  CUgraphExec exec = nullptr;
  if (result == CUDA_SUCCESS) {
    result = ENTRY(cuGraphInstantiateWithFlags)(&exec, graph, 0);
  }
  if (result == CUDA_SUCCESS) {
    result = ENTRY(cuGraphLaunch)(exec, stream);
    CUresult waited = ENTRY(cuStreamSynchronize)(stream);
    result = result == CUDA_SUCCESS ? waited : result;
  }
  *held = {reinterpret_cast<uint64_t>(graph), reinterpret_cast<uint64_t>(exec), params.dptr};
  if (result != CUDA_SUCCESS) {
    drop_graph(*held);
  }
  return result;
}

static CUresult mapped_block(size_t bytes, Held *held) {
  CUmemGenericAllocationHandle block;
  CUresult result = ENTRY(cuMemCreate)(&block, bytes, &prop, 0);
  held->handle = block;
  return result;
}

static std::vector<Kind> kinds() {
  auto free_it = [](const Held &held) { DRIVER(ENTRY(cuMemFree)(held.handle)); };
  auto free_later = [](const Held &held) {
    DRIVER(ENTRY(cuMemFreeAsync)(held.handle, stream));
    DRIVER(ENTRY(cuStreamSynchronize)(stream));
  };
  auto address = [](Held *held) { return reinterpret_cast<CUdeviceptr *>(&held->handle); };
  return {
      {"cuMemAlloc", 512,
          [=](size_t bytes, Held *held) { return ENTRY(cuMemAlloc)(address(held), bytes); },
          free_it},
      {"cuMemAllocPitch", 512 * 1024,
          [=](size_t bytes, Held *held) {
            size_t pitch;
            return ENTRY(cuMemAllocPitch)(address(held), &pitch, bytes / 1024, 1024, 4);
          },
          free_it},
      {"cuMemAllocManaged", 64 * 1024,
          [=](size_t bytes, Held *held) {
            return ENTRY(cuMemAllocManaged)(address(held), bytes, CU_MEM_ATTACH_GLOBAL);
          },
          free_it},
      {"cuMemAllocAsync", 512,
          [=](size_t bytes, Held *held) {
            return ENTRY(cuMemAllocAsync)(address(held), bytes, stream);
          },
          free_later},
      {"cuMemAllocFromPoolAsync", 512,
          [=](size_t bytes, Held *held) {
            return ENTRY(cuMemAllocFromPoolAsync)(address(held), bytes, made_pool, stream);
          },
          [=](const Held &held) {
            free_later(held);
            DRIVER(ENTRY(cuMemPoolTrimTo)(made_pool, 0));
          }},
      {"cuMemCreate", 2 * MIB,
          [=](size_t bytes, Held *held) {
            return mapped_block((bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB), held);
          },
          [](const Held &held) { DRIVER(ENTRY(cuMemRelease)(held.handle)); }},
      {"cuArrayCreate", MIB,
          [](size_t bytes, Held *held) {
            return array_of(bytes, reinterpret_cast<CUarray *>(&held->handle));
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuArrayDestroy)(reinterpret_cast<CUarray>(held.handle)));
          }},
      {"cuArray3DCreate", MIB,
          [](size_t bytes, Held *held) {
            CUDA_ARRAY3D_DESCRIPTOR shape = volume(bytes, 0);
            return ENTRY(cuArray3DCreate)(reinterpret_cast<CUarray *>(&held->handle), &shape);
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuArrayDestroy)(reinterpret_cast<CUarray>(held.handle)));
          }},
      {"cuMipmappedArrayCreate", MIB,
          [](size_t bytes, Held *held) {
            CUDA_ARRAY3D_DESCRIPTOR shape = volume(bytes / 8 * 7, 0);
            return ENTRY(cuMipmappedArrayCreate)(
                reinterpret_cast<CUmipmappedArray *>(&held->handle), &shape, 3);
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuMipmappedArrayDestroy)(reinterpret_cast<CUmipmappedArray>(held.handle)));
          }},
      {"cuModuleLoadData", 4096,
          [](size_t bytes, Held *held) {
            return ENTRY(cuModuleLoadData)(
                reinterpret_cast<CUmodule *>(&held->handle), module_with(bytes).c_str());
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuModuleUnload)(reinterpret_cast<CUmodule>(held.handle)));
          }},
      {"cuLibraryLoadData", 4096,
          [](size_t bytes, Held *held) {
            CUlibrary library;
            CUresult result = ENTRY(cuLibraryLoadData)(&library, module_with(bytes).c_str(), nullptr,
                nullptr, 0, nullptr, nullptr, 0);
            if (result != CUDA_SUCCESS) {
              return result;
            }
            CUmodule module;
            result = ENTRY(cuLibraryGetModule)(&module, library);
            held->handle = reinterpret_cast<uint64_t>(library);
            if (result != CUDA_SUCCESS) {
              DRIVER(ENTRY(cuLibraryUnload)(library));
            }
            return result;
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuLibraryUnload)(reinterpret_cast<CUlibrary>(held.handle)));
          }},
      {"cuGraphAddMemAllocNode", 64 * 1024, graph_memory,
          [](const Held &held) {
            DRIVER(ENTRY(cuMemFree)(held.address));
            drop_graph(held);
          }},
      {"cuMemHostAlloc, mapped", 64 * 1024,
          [](size_t bytes, Held *held) {
            void *host;
            CUresult result =
                ENTRY(cuMemHostAlloc)(&host, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
            held->handle = reinterpret_cast<uint64_t>(host);
            return result;
          },
          [](const Held &held) {
            DRIVER(ENTRY(cuMemFreeHost)(reinterpret_cast<void *>(held.handle)));
          }},
  };
}

static bool is_refusal(CUresult result) { return result == CUDA_ERROR_OUT_OF_MEMORY; }

// Fills all there is with one kind, in pieces.
static void at_the_limit(const Kind &kind) {
  const size_t piece = 48 * MIB;
  size_t start = free_bytes();
  Held held;
  // Kinds in whole rows or levels may come to a little less than they are asked for.
  CUresult result = kind.take(start + start / 256 + 4 * MIB, &held);
  REQUIRE(is_refusal(result), "%s of more than there is answers %d", kind.name, result);
  REQUIRE(free_bytes() == start, "%s was refused and kept memory", kind.name);

  std::vector<Held> all;
  size_t before = start;
  while (true) {
    Held next;
    result = kind.take(piece, &next);
    if (result != CUDA_SUCCESS) {
      break;
    }
    all.push_back(next);
    size_t after = free_bytes();
    REQUIRE(before - after + kind.slack >= piece && before - after <= piece + kind.slack,
        "%s of %zu bytes took %zu", kind.name, piece, before - after);
    before = after;
  }
  REQUIRE(is_refusal(result), "%s at the limit answers %d", kind.name, result);
  REQUIRE(all.size() >= 4 && before < piece + kind.slack, "%s stopped at %zu bytes", kind.name,
      before);
  REQUIRE(free_bytes() == before, "%s was refused and kept memory", kind.name);

  // Freed memory is available again at once, to this kind of allocation and to another.
  for (int round = 0; round < 2; round++) {
    kind.release(all.back());
    all.pop_back();
    Held again;
    result = kind.take(piece, &again);
    REQUIRE(result == CUDA_SUCCESS, "%s after one was freed answers %d", kind.name, result);
    all.push_back(again);
    REQUIRE(free_bytes() == before, "%s is not what it was", kind.name);
  }
  kind.release(all.back());
  all.pop_back();
  CUdeviceptr other;
  DRIVER(ENTRY(cuMemAlloc)(&other, piece * 7 / 8));
  DRIVER(ENTRY(cuMemFree)(other));
  for (const Held &one : all) {
    kind.release(one);
  }
  REQUIRE(free_bytes() == start, "%s left %zu bytes", kind.name, start - free_bytes());
}

// Memory of the host, and what only names memory, costs the lease nothing.
static void without_cost() {
  size_t start = free_bytes();
  void *pinned;
  DRIVER(ENTRY(cuMemAllocHost)(&pinned, 64 * MIB));
  CUdeviceptr range;
  DRIVER(ENTRY(cuMemAddressReserve)(&range, 4 * total, 0, 0, 0));
  REQUIRE(free_bytes() == start, "the host's memory was counted");
  DRIVER(ENTRY(cuMemAddressFree)(range, 4 * total));
  DRIVER(ENTRY(cuMemFreeHost)(pinned));
}

// The heap of kernels that allocate is taken with the first module that has one.
static void heap() {
  const char *allocating =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".extern .func (.param .b64 at) malloc (.param .b64 bytes);\n"
      ".visible .entry grab() {\n"
      "  .reg .b64 %rd<2>;\n"
      "  { .param .b64 bytes; st.param.b64 [bytes], 16; .param .b64 at;\n"
      "    call.uni (at), malloc, (bytes); ld.param.b64 %rd1, [at]; }\n"
      "  ret;\n}\n";
  size_t start = free_bytes();
  CUmodule module;
  DRIVER(ENTRY(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, start + 64 * MIB));
  CUresult result = ENTRY(cuModuleLoadData)(&module, allocating);
  REQUIRE(is_refusal(result), "a heap over the limit answers %d", result);
  REQUIRE(free_bytes() == start, "a heap was refused and kept memory");
  DRIVER(ENTRY(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 32 * MIB));
  DRIVER(ENTRY(cuModuleLoadData)(&module, allocating));
  size_t with_heap = free_bytes();
  REQUIRE(start - with_heap >= 32 * MIB, "a heap of 32 MiB took %zu bytes", start - with_heap);
  DRIVER(ENTRY(cuModuleUnload)(module));
}

// Random operations of all kinds; each is compared with what is known to be allocated.
static size_t random_operations(const std::vector<Kind> &kinds, long operations) {
  struct Known {
    const Kind *kind;
    Held held;
    size_t bytes;
  };
  Numbers numbers(17);
  std::vector<Known> alive;
  const size_t start = free_bytes();
  size_t used = 0, refused = 0;
  for (long i = 0; i < operations; i++) {
    if (!alive.empty() && numbers.next() % 100 < (alive.size() > 200 ? 60 : 45)) {
      size_t which = numbers.next() % alive.size();
      Known gone = alive[which];
      alive[which] = alive.back();
      alive.pop_back();
      gone.kind->release(gone.held);
      used -= gone.bytes;
    } else {
      const Kind *kind = &kinds[numbers.next() % kinds.size()];
      // Mostly small, some that do not fit; nothing but whole layers for arrays.
      size_t bytes = (1 + numbers.next() % 8) * MIB * (numbers.next() % 16 == 0 ? 24 : 1);
      Known made{kind, {}, 0};
      CUresult result = kind->take(bytes, &made.held);
      size_t now = free_bytes();
      if (result == CUDA_SUCCESS) {
        REQUIRE(start - used >= now, "%s gave memory back", kind->name);
        made.bytes = start - used - now;
        REQUIRE(made.bytes + kind->slack >= bytes && made.bytes <= bytes + kind->slack,
            "operation %ld: %s of %zu bytes took %zu", i, kind->name, bytes, made.bytes);
        used += made.bytes;
        alive.push_back(made);
      } else {
        REQUIRE(is_refusal(result), "operation %ld: %s answers %d", i, kind->name, result);
        REQUIRE(bytes + kind->slack > now, "operation %ld: %s of %zu bytes with %zu free was refused",
            i, kind->name, bytes, now);
        refused++;
      }
    }
    REQUIRE(free_bytes() == start - used, "operation %ld: %zu bytes are free, not %zu", i,
        free_bytes(), start - used);
  }
  for (const Known &one : alive) {
    one.kind->release(one.held);
  }
  REQUIRE(free_bytes() == start, "%zu bytes are lost", start - free_bytes());
  return refused;
}

// Small allocations, live and freed, take exactly what they say, and all there is can be filled with them.
static void small_allocations() {
  const size_t step = 512;
  struct Small {
    CUdeviceptr address;
    size_t bytes;
  };
  Numbers numbers(23);
  std::vector<Small> alive;
  const size_t start = free_bytes();
  size_t used = 0;
  auto take = [&](size_t bytes) {
    Small made{0, (bytes + step - 1) / step * step};
    CUresult result = ENTRY(cuMemAlloc)(&made.address, bytes);
    if (result == CUDA_SUCCESS) {
      used += made.bytes;
      alive.push_back(made);
    }
    return result;
  };
  for (int i = 0; i < 100000; i++) {
    CUresult result = take(1 + numbers.next() % 4096);
    REQUIRE(result == CUDA_SUCCESS, "small allocation %d answers %d", i, result);
    while (used > start / 2 || (!alive.empty() && numbers.next() % 4 == 0)) {
      size_t which = numbers.next() % alive.size();
      DRIVER(ENTRY(cuMemFree)(alive[which].address));
      used -= alive[which].bytes;
      alive[which] = alive.back();
      alive.pop_back();
    }
    if (i % 1000 == 0) {
      REQUIRE(free_bytes() == start - used, "after %d small allocations %zu bytes are free, not %zu", i,
          free_bytes(), start - used);
    }
  }
  for (size_t bytes = MIB; bytes >= step; bytes /= 2) {
    CUresult result;
    do {
      result = take(bytes);
    } while (result == CUDA_SUCCESS);
    REQUIRE(is_refusal(result), "%zu bytes at the limit answer %d", bytes, result);
    REQUIRE(free_bytes() == start - used && free_bytes() < bytes, "%zu bytes with %zu free were refused", bytes,
        free_bytes());
  }
  std::sort(alive.begin(), alive.end(),
      [](const Small &one, const Small &other) { return one.address < other.address; });
  for (size_t i = 0; i + 1 < alive.size(); i++) {
    REQUIRE(alive[i].address + alive[i].bytes <= alive[i + 1].address, "two allocations overlap");
  }
  for (const Small &one : alive) {
    DRIVER(ENTRY(cuMemFree)(one.address));
  }
  REQUIRE(free_bytes() == start, "small allocations left %zu bytes", start - free_bytes());
}

int main(int argc, char **argv) {
  long operations = argc > 1 ? std::atol(argv[1]) : 500;
  CHECK(cudaFree(nullptr));
  size_t now;
  DRIVER(ENTRY(cuMemGetInfo)(&now, &total));
  DRIVER(ENTRY(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  CUmemPoolProps props = pool_props();
  DRIVER(ENTRY(cuMemPoolCreate)(&made_pool, &props));
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const std::vector<Kind> all = kinds();
  for (const Kind &kind : all) {
    at_the_limit(kind);
  }
  without_cost();
  size_t refused = random_operations(all, operations);
  small_allocations();
  heap();
  return ok("%zu ways to allocate %zu MiB, %ld random operations, %zu refused", all.size(),
      total / MIB, operations, refused);
}
