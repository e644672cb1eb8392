// SPDX-License-Identifier: Apache-2.0
// Every collective of NCCL with every type and operator, against the CPU.
// Usage: conformance [--ranks N] [--rank R --id-file FILE [--device D]] [--nccl LIBRARY] [--max BYTES] [--seed S]
//                    [--cases N]
// Without --rank all ranks are in this process, each with a device of its own; under Open MPI's mpirun, which says rank
// and number of ranks, each process is one. Integers are exact, and so are floats that are small integers; sums and
// products of other floats may differ from the exact result by one rounding of each factor and each step. The results
// of all ranks of a reduction to all are the same to the bit.
#include "numbers.h"
#include "ranks.h"

enum kind { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER, KINDS };

static const struct {
  const char *name;
  int reduces, has_root, send_all, receive_all;  // all: elements for or from all ranks
} kinds[KINDS] = {{"all_reduce", 1, 0, 0, 0},     {"broadcast", 0, 1, 0, 0},  {"reduce", 1, 1, 0, 0},
                  {"all_gather", 0, 0, 0, 1},     {"reduce_scatter", 1, 0, 1, 0}, {"all_to_all", 0, 0, 1, 1},
                  {"gather", 0, 1, 0, 1},         {"scatter", 0, 1, 1, 0}};

enum { SIZES = 6, DEFAULT_MAX_BYTES = 1 << 20, MOST_MAX_BYTES = 64 << 20 };

struct device_memory {
  CUdeviceptr send, receive;  // of the greatest size each
  CUdeviceptr scalar, sums;
};

static struct ranks ranks;
static struct device_memory memory[MAX_RANKS];
static uint64_t max_bytes = DEFAULT_MAX_BYTES, seed = 1;
static uint8_t *host;

struct one_case {
  enum kind kind;
  int in_place, root;
  uint64_t count;
  struct values values;
  int number;
};

static void allocate(void) {
  host = malloc(max_bytes + 8);
  if (host == NULL) {
    fail("no memory");
  }
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemAlloc(&memory[i].send, max_bytes + 8));
    CHECK(cuMemAlloc(&memory[i].receive, max_bytes + 8));
    CHECK(cuMemAlloc(&memory[i].scalar, 8));
    CHECK(cuMemAlloc(&memory[i].sums, sizeof(uint64_t) * (MAX_RANKS + 1)));
  }
}

static int is_root(const struct one_case *at, const struct rank *rank) {
  return !kinds[at->kind].has_root || at->root == rank->rank;
}

/** The number of elements that a rank sends: of a broadcast or scatter the root alone does. */
static uint64_t sent(const struct one_case *at, const struct rank *rank) {
  int sends = at->kind == BROADCAST || at->kind == SCATTER ? is_root(at, rank) : 1;
  return !sends ? 0 : at->count * (uint64_t)(kinds[at->kind].send_all ? ranks.count : 1);
}

static uint64_t received(const struct one_case *at, const struct rank *rank) {
  int receives = at->kind == REDUCE || at->kind == GATHER ? is_root(at, rank) : 1;
  return !receives ? 0 : at->count * (uint64_t)(kinds[at->kind].receive_all ? ranks.count : 1);
}

/** Finds where a rank sends from and receives to. */
static void place(const struct one_case *at, int own, CUdeviceptr *send, CUdeviceptr *receive) {
  const struct rank *rank = &ranks.own_ranks[own];
  uint64_t part = (uint64_t)rank->rank * at->count * (uint64_t)types[at->values.type].bytes;
  *send = memory[own].send;
  *receive = memory[own].receive;
  if (!at->in_place || !is_root(at, rank)) {
    return;
  }
  *receive = *send;
  if (at->kind == ALL_GATHER || at->kind == GATHER) {
    *send += part;
  } else if (at->kind == REDUCE_SCATTER || at->kind == SCATTER) {
    *receive += part;
  }
}

static void upload(const struct one_case *at, int own) {
  const struct rank *rank = &ranks.own_ranks[own];
  int bytes = types[at->values.type].bytes;
  uint64_t count = sent(at, rank);
  CUdeviceptr send, receive;
  place(at, own, &send, &receive);
  CHECK(cuMemsetD32(memory[own].send, 0xa5a5a5a5u, max_bytes / 4));
  CHECK(cuMemsetD32(memory[own].receive, 0x5a5a5a5au, max_bytes / 4));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t value = value_at(&at->values, rank->rank, i);
    memcpy(host + i * (uint64_t)bytes, &value, (size_t)bytes);
  }
  if (count > 0) {
    CHECK(cuMemcpyHtoD(send, host, count * (uint64_t)bytes));
  }
}

/** The operator of a case; one with a scalar is made of it. */
static int operator_of(const struct one_case *at, int own) {
  const struct rank *rank = &ranks.own_ranks[own];
  int op = at->values.op;
  if (op != NCCL_PREMUL_SUM) {
    return op;
  }
  uint64_t scalar = scalar_of(at->values.type, rank->rank);
  if (at->number % 2) {
    NCCL_CHECK(ncclRedOpCreatePreMulSum(&op, &scalar, at->values.type, NCCL_SCALAR_HOST, rank->comm));
  } else {
    CHECK(cuMemcpyHtoD(memory[own].scalar, &scalar, sizeof scalar));
    NCCL_CHECK(ncclRedOpCreatePreMulSum(&op, (void *)(uintptr_t)memory[own].scalar, at->values.type,
                                        NCCL_SCALAR_DEVICE, rank->comm));
  }
  return op;
}

static void call(const struct one_case *at, int own, int op) {
  const struct rank *rank = &ranks.own_ranks[own];
  int type = at->values.type;
  CUdeviceptr send, receive;
  place(at, own, &send, &receive);
  switch (at->kind) {
    case ALL_REDUCE:
      NCCL_CHECK(ncclAllReduce(send, receive, at->count, type, op, rank->comm, rank->stream));
      break;
    case BROADCAST:
      NCCL_CHECK(ncclBroadcast(send, receive, at->count, type, at->root, rank->comm, rank->stream));
      break;
    case REDUCE:
      NCCL_CHECK(ncclReduce(send, receive, at->count, type, op, at->root, rank->comm, rank->stream));
      break;
    case ALL_GATHER:
      NCCL_CHECK(ncclAllGather(send, receive, at->count, type, rank->comm, rank->stream));
      break;
    case REDUCE_SCATTER:
      NCCL_CHECK(ncclReduceScatter(send, receive, at->count, type, op, rank->comm, rank->stream));
      break;
    case ALL_TO_ALL:
      NCCL_CHECK(ncclAlltoAll(send, receive, at->count, type, rank->comm, rank->stream));
      break;
    case GATHER:
      NCCL_CHECK(ncclGather(send, receive, at->count, type, at->root, rank->comm, rank->stream));
      break;
    default:
      NCCL_CHECK(ncclScatter(send, receive, at->count, type, at->root, rank->comm, rank->stream));
  }
}

/** Returns whether the element that a rank received at an index is right. */
static int is_right(const struct one_case *at, const struct rank *rank, uint64_t index, uint64_t bits) {
  uint64_t own = (uint64_t)rank->rank * at->count;
  switch (at->kind) {
    case ALL_REDUCE:
    case REDUCE:
      return is_reduced(&at->values, index, bits);
    case REDUCE_SCATTER:
      return is_reduced(&at->values, own + index, bits);
    case BROADCAST:
      return bits == value_at(&at->values, at->root, index);
    case SCATTER:
      return bits == value_at(&at->values, at->root, own + index);
    case ALL_TO_ALL:
      return bits == value_at(&at->values, (int)(index / at->count), own + index % at->count);
    default:
      return bits == value_at(&at->values, (int)(index / at->count), index % at->count);
  }
}

/** Checks what a rank received; returns a sum of its bits. */
static uint64_t verify(const struct one_case *at, int own) {
  const struct rank *rank = &ranks.own_ranks[own];
  uint64_t bytes = (uint64_t)types[at->values.type].bytes, count = received(at, rank), sum = 0;
  CUdeviceptr send, receive;
  place(at, own, &send, &receive);
  if (count == 0) {
    return 0;
  }
  CHECK(cuMemcpyDtoH(host, receive, count * bytes));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, host + i * bytes, bytes);
    sum = scramble(sum ^ bits);
    if (!is_right(at, rank, i, bits)) {
      fail("%s of %s, %s, %llu elements%s, root %d, seed %llu: rank %d has 0x%llx at element %llu", kinds[at->kind].name,
           types[at->values.type].name, operators[at->values.op], (unsigned long long)at->count,
           at->in_place ? ", in place" : "", at->root, (unsigned long long)at->values.seed, rank->rank,
           (unsigned long long)bits, (unsigned long long)i);
    }
  }
  return sum;
}

/** Has all ranks compare the sums of what they received. */
static void compare_sums(const struct one_case *at, const uint64_t *sums) {
  uint64_t all[MAX_RANKS];
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemcpyHtoD(memory[i].sums, &sums[i], sizeof *sums));
    CHECK(cuCtxSynchronize());
  }
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *rank = &ranks.own_ranks[i];
    NCCL_CHECK(ncclAllGather(memory[i].sums, memory[i].sums + sizeof *sums, 1, NCCL_UINT64, rank->comm, rank->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
  ranks_wait(&ranks);
  rank_enter(&ranks.own_ranks[0]);
  CHECK(cuMemcpyDtoH(all, memory[0].sums + sizeof *sums, sizeof *all * (size_t)ranks.count));
  for (int i = 1; i < ranks.count; i++) {
    if (all[i] != all[0]) {
      fail("all_reduce of %s, %s, %llu elements: ranks 0 and %d differ", types[at->values.type].name,
           operators[at->values.op], (unsigned long long)at->count, i);
    }
  }
}

static void run(const struct one_case *at) {
  int ops[MAX_RANKS];
  uint64_t sums[MAX_RANKS];
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    upload(at, i);
    ops[i] = operator_of(at, i);
    CHECK(cuCtxSynchronize());
  }
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    call(at, i, ops[i]);
  }
  NCCL_CHECK(ncclGroupEnd());
  ranks_wait(&ranks);
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    sums[i] = verify(at, i);
    if (at->values.op == NCCL_PREMUL_SUM) {
      NCCL_CHECK(ncclRedOpDestroy(ops[i], ranks.own_ranks[i].comm));
    }
  }
  if (at->kind == ALL_REDUCE) {
    compare_sums(at, sums);
  }
}

/** A number of elements: none, one, some, and as many as fit. */
static uint64_t choose_count(enum kind kind, int type, int size, uint64_t random) {
  uint64_t shares = kinds[kind].send_all || kinds[kind].receive_all ? (uint64_t)ranks.count : 1;
  uint64_t most = max_bytes / (uint64_t)types[type].bytes / shares;
  uint64_t limits[SIZES] = {0, 1, 64, 4096, 65536, most};
  uint64_t limit = limits[size] < most ? limits[size] : most;
  return size < 2 || size == SIZES - 1 ? limit : random % (limit + 1);
}

static struct one_case make_case(enum kind kind, int number) {
  int operators_of_kind = kinds[kind].reduces ? NCCL_OPERATORS : 1, rest = number;
  struct one_case at = {.kind = kind, .number = number};
  at.in_place = rest % 2;
  rest /= 2;
  int size = rest % SIZES;
  rest /= SIZES;
  at.values.op = kinds[kind].reduces ? rest % operators_of_kind : 0;
  rest /= operators_of_kind;
  at.values.type = rest % NCCL_TYPES;
  at.values.seed = scramble(seed ^ scramble((uint64_t)number << 8 | kind));
  at.values.ranks = ranks.count;
  at.values.fractions = kinds[kind].reduces && at.values.seed >> 8 & 1;
  at.root = (int)(at.values.seed >> 16) & 0xff;
  at.root %= ranks.count;
  // Transfers to all have no form in place.
  if (kind == ALL_TO_ALL) {
    at.in_place = 0;
  }
  at.count = choose_count(kind, at.values.type, size, at.values.seed >> 32);
  return at;
}

static int cases_of(enum kind kind) { return 2 * SIZES * NCCL_TYPES * (kinds[kind].reduces ? NCCL_OPERATORS : 1); }

static void report(const char *name, int count) {
  printf("conformance: %s OK %d cases\n", name, count);
  fflush(stdout);
}

static void run_all(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < cases_of((enum kind)kind); i++) {
      struct one_case at = make_case((enum kind)kind, i);
      run(&at);
    }
    report(kinds[kind].name, cases_of((enum kind)kind));
  }
}

static void run_some(int count) {
  int done[KINDS] = {0};
  for (int i = 0; i < count; i++) {
    uint64_t random = scramble(seed + scramble((uint64_t)i));
    enum kind kind = (enum kind)(random % KINDS);
    struct one_case at = make_case(kind, (int)((random >> 8) % (uint64_t)cases_of(kind)));
    run(&at);
    done[kind]++;
  }
  for (int kind = 0; kind < KINDS; kind++) {
    report(kinds[kind].name, done[kind]);
  }
}

// Transfers between two ranks

enum { TRANSFER_COUNT = 1000 };

static void fill(int own, int32_t first) {
  int32_t values[TRANSFER_COUNT];
  for (int i = 0; i < TRANSFER_COUNT; i++) {
    values[i] = first + i;
  }
  CHECK(cuMemcpyHtoD(memory[own].send, values, sizeof values));
}

static void expect(int own, CUdeviceptr address, int32_t first, const char *what) {
  int32_t values[TRANSFER_COUNT];
  CHECK(cuMemcpyDtoH(values, address, sizeof values));
  for (int i = 0; i < TRANSFER_COUNT; i++) {
    if (values[i] != first + i) {
      fail("%s: rank %d has %d at element %d, not %d", what, ranks.own_ranks[own].rank, values[i], i, first + i);
    }
  }
}

static int32_t mark(int from, int to) { return 1000000 * from + 10000 * to; }

/** Has each rank send to the rank that is so many further on, around the end. */
static void run_ring(int distance, const char *name) {
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    fill(i, mark(ranks.own_ranks[i].rank, distance));
    CHECK(cuCtxSynchronize());
  }
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *rank = &ranks.own_ranks[i];
    int to = (rank->rank + distance) % ranks.count, from = (rank->rank + ranks.count - distance) % ranks.count;
    NCCL_CHECK(ncclSend(memory[i].send, TRANSFER_COUNT, NCCL_INT32, to, rank->comm, rank->stream));
    NCCL_CHECK(ncclRecv(memory[i].receive, TRANSFER_COUNT, NCCL_INT32, from, rank->comm, rank->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
  ranks_wait(&ranks);
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    int from = (ranks.own_ranks[i].rank + ranks.count - distance) % ranks.count;
    expect(i, memory[i].receive, mark(from, distance), name);
  }
}

// An all-reduce in a graph

/** Launches a captured sum of all ranks in place three times. */
static void run_graph(void) {
  enum { LAUNCHES = 3 };
  CUgraph graph;
  CUgraphExec executables[MAX_RANKS];
  int32_t expected = 0;
  for (int i = 0; i < ranks.count; i++) {
    expected += i + 1;
  }
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemsetD32(memory[i].send, (unsigned)ranks.own_ranks[i].rank + 1, TRANSFER_COUNT));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamBeginCapture(ranks.own_ranks[i].stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }
  NCCL_CHECK(ncclGroupStart());
  for (int i = 0; i < ranks.own; i++) {
    const struct rank *rank = &ranks.own_ranks[i];
    NCCL_CHECK(ncclAllReduce(memory[i].send, memory[i].send, TRANSFER_COUNT, NCCL_INT32, NCCL_SUM, rank->comm,
                             rank->stream));
  }
  NCCL_CHECK(ncclGroupEnd());
  for (int i = 0; i < ranks.own; i++) {
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuStreamEndCapture(ranks.own_ranks[i].stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&executables[i], graph, 0));
  }
  for (int launch = 0; launch < LAUNCHES; launch++) {
    for (int i = 0; i < ranks.own; i++) {
      rank_enter(&ranks.own_ranks[i]);
      CHECK(cuGraphLaunch(executables[i], ranks.own_ranks[i].stream));
    }
    expected *= launch > 0 ? ranks.count : 1;
  }
  ranks_wait(&ranks);
  for (int i = 0; i < ranks.own; i++) {
    int32_t values[TRANSFER_COUNT];
    rank_enter(&ranks.own_ranks[i]);
    CHECK(cuMemcpyDtoH(values, memory[i].send, sizeof values));
    for (int j = 0; j < TRANSFER_COUNT; j++) {
      if (values[j] != expected) {
        fail("graph: rank %d has %d at element %d, not %d", ranks.own_ranks[i].rank, values[j], j, expected);
      }
    }
  }
  report("graph", LAUNCHES);
}

int main(int argc, char **argv) {
  struct rank_options options = {.rank = -1, .nccl = "libnccl.so.2"};
  int cases = 0;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) {
      fail("%s has no value", argv[i]);
    } else if (strcmp(argv[i], "--max") == 0) {
      max_bytes = strtoull(argv[i + 1], NULL, 0);
    } else if (strcmp(argv[i], "--seed") == 0) {
      seed = strtoull(argv[i + 1], NULL, 0);
    } else if (strcmp(argv[i], "--cases") == 0) {
      cases = atoi(argv[i + 1]);
    } else if (!rank_option(&options, argv[i], argv[i + 1])) {
      fail("there is no option %s", argv[i]);
    }
  }
  if (max_bytes < sizeof(int32_t) * TRANSFER_COUNT || max_bytes > MOST_MAX_BYTES) {
    fail("--max is from %d to %d bytes", (int)sizeof(int32_t) * TRANSFER_COUNT, MOST_MAX_BYTES);
  }
  ranks_start(&ranks, &options);
  allocate();
  if (cases > 0) {
    run_some(cases);
  } else {
    run_all();
  }
  for (int distance = 1; distance < ranks.count; distance++) {
    run_ring(distance, "ring");
  }
  report("ring", ranks.count - 1);
  run_ring(0, "send to oneself");
  report("send_to_oneself", 1);
  run_graph();
  ranks_end(&ranks);
  printf("conformance: OK\n");
  return 0;
}
