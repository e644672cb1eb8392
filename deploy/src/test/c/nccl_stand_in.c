// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's libnccl.so.2 over the modelled driver, whose device memory is this process's. It adds a line
// for each call to the file NCCL_STAND_IN_LOG. Ranks of one process exchange their data, once the streams of all of them
// have come to a call; between processes nothing is exchanged. NCCL_STAND_IN_VERSION: what it says to be.
#include <fcntl.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

// Nothing of the driver is looked up when this is loaded.
#define DRIVER_LINKED
#include "../../../examples/nccl/numbers.h"

#include <pthread.h>

enum { MAX_MEMBERS = 16, MAX_OPS = 256, VERSION = 22703, OPERATION_WORDS = 6 };
enum { INVALID_ARGUMENT = 4, HERE_SECONDS = 2 };

struct op {
  const char *name;
  char *send, *receive;
  size_t count;
  int type, operation, peer, used;
};

/** The calls of one group of one rank. */
struct group {
  struct op ops[MAX_OPS];
  int count, arrived;
  uint32_t *done;
  struct group *next;
};

struct clique {
  char id[128];
  int ranks, joined, splits;
  struct ncclComm *members[MAX_MEMBERS];
  struct clique *next;
};

struct operator {
  int inDevice;
  uint64_t bits;
};

struct ncclComm {
  struct clique *clique;
  int number, rank, color, key, splits, error;
  struct operator operators[64];
  int operatorCount;
  void *streams[16];
  struct group *first, *last;  // of groups that have not been carried out
};

/** The groups that the thread's calls are in, a communicator each. */
static _Thread_local struct {
  struct ncclComm *comm;
  void *stream;
  struct group *group;
} pending[MAX_MEMBERS];
static _Thread_local int depth, pendingCount;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct clique *cliques;
static int communicators;

static void note(const struct ncclComm *comm, const char *format, ...) {
  char line[512];
  va_list rest;
  const char *path = getenv("NCCL_STAND_IN_LOG");
  int length = comm ? snprintf(line, sizeof line, "%d/%d ", comm->rank, comm->clique->ranks) : 0;
  va_start(rest, format);
  length += vsnprintf(line + length, sizeof line - 2 - (size_t)length, format, rest);
  va_end(rest);
  line[length++] = '\n';
  int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  if (file >= 0 && write(file, line, (size_t)length) != length) abort();
  if (file >= 0) close(file);
}

static void *driver(const char *name) {
  static void *library;
  if (!library) library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void *function = library ? dlsym(library, name) : NULL;
  if (!function) {
    fprintf(stderr, "nccl_stand_in: no %s\n", name);
    abort();
  }
  return function;
}

#define STAND_IN(name, ...) \
  int stand_##name(__VA_ARGS__) __asm__(#name) __attribute__((visibility("default"))); \
  int stand_##name(__VA_ARGS__)

STAND_IN(ncclGetVersion, int *version) {
  const char *said = getenv("NCCL_STAND_IN_VERSION");
  *version = said ? atoi(said) : VERSION;
  return 0;
}

STAND_IN(ncclGetUniqueId, ncclUniqueId *id) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  memset(id, 7, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "%d-%ld-%ld", (int)getpid(), (long)now.tv_sec, now.tv_nsec);
  note(NULL, "ncclGetUniqueId %s", id->bytes);
  return 0;
}

/** Joins the ranks of an id, and waits for those that are in this process. */
static struct ncclComm *enter(const char *id, int ranks, int rank) {
  struct clique *clique;
  pthread_mutex_lock(&lock);
  for (clique = cliques; clique && memcmp(clique->id, id, sizeof clique->id) != 0; clique = clique->next) {}
  if (!clique) {
    clique = calloc(1, sizeof *clique);
    memcpy(clique->id, id, sizeof clique->id);
    clique->ranks = ranks;
    clique->next = cliques;
    cliques = clique;
  }
  struct ncclComm *comm = calloc(1, sizeof *comm);
  comm->clique = clique;
  comm->rank = rank;
  comm->number = ++communicators;
  clique->members[rank] = comm;
  clique->joined++;
  pthread_cond_broadcast(&changed);
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += HERE_SECONDS;
  while (clique->joined < clique->ranks && pthread_cond_timedwait(&changed, &lock, &end) == 0) {}
  pthread_mutex_unlock(&lock);
  return comm;
}

STAND_IN(ncclCommInitRank, struct ncclComm **made, int ranks, ncclUniqueId id, int rank) {
  *made = enter(id.bytes, ranks, rank);
  note(*made, "ncclCommInitRank %s", id.bytes);
  return 0;
}

STAND_IN(ncclCommSplit, struct ncclComm *comm, int color, int key, struct ncclComm **made, void *config) {
  struct clique *clique = comm->clique;
  char id[128] = "";
  int ranks = 0, rank = 0;
  note(comm, "ncclCommSplit color=%d key=%d", color, key);
  if (config) return INVALID_ARGUMENT;
  pthread_mutex_lock(&lock);
  comm->color = color;
  comm->key = key;
  int number = ++comm->splits;
  clique->splits++;
  pthread_cond_broadcast(&changed);
  while (clique->splits < clique->ranks * number) pthread_cond_wait(&changed, &lock);
  for (int i = 0; i < clique->ranks; i++) {
    const struct ncclComm *other = clique->members[i];
    if (other->color != color) continue;
    ranks++;
    rank += other->key < key || (other->key == key && i < comm->rank);
  }
  snprintf(id, sizeof id, "%.60s/%d/%d", clique->id, number, color);
  pthread_mutex_unlock(&lock);
  *made = color < 0 ? NULL : enter(id, ranks, rank);
  return 0;
}

STAND_IN(ncclCommFinalize, struct ncclComm *comm) {
  note(comm, "ncclCommFinalize");
  return 0;
}

STAND_IN(ncclCommDestroy, struct ncclComm *comm) {
  note(comm, "ncclCommDestroy");
  return 0;
}

STAND_IN(ncclCommAbort, struct ncclComm *comm) {
  note(comm, "ncclCommAbort");
  pthread_mutex_lock(&lock);
  for (struct group *group = comm->first; group; group = group->next) *(volatile uint32_t *)group->done = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}

STAND_IN(ncclCommGetAsyncError, struct ncclComm *comm, int *error) {
  *error = comm->error;
  return 0;
}

STAND_IN(ncclCommCount, struct ncclComm *comm, int *count) {
  *count = comm->clique->ranks;
  return 0;
}

STAND_IN(ncclCommUserRank, struct ncclComm *comm, int *rank) {
  *rank = comm->rank;
  return 0;
}

const char *stand_last(void *comm) __asm__("ncclGetLastError") __attribute__((visibility("default")));
const char *stand_last(void *comm) {
  (void)comm;
  return "";
}

const char *stand_text(int result) __asm__("ncclGetErrorString") __attribute__((visibility("default")));
const char *stand_text(int result) { return result == INVALID_ARGUMENT ? "invalid argument" : "an error"; }

STAND_IN(ncclRedOpCreatePreMulSum, int *op, void *scalar, int type, int residence, struct ncclComm *comm) {
  struct operator *made = &comm->operators[comm->operatorCount % 64];
  made->inDevice = residence == NCCL_SCALAR_DEVICE;
  made->bits = 0;
  if (made->inDevice) {
    made->bits = (uintptr_t)scalar;
  } else {
    memcpy(&made->bits, scalar, (size_t)types[type].bytes);
  }
  *op = NCCL_PREMUL_SUM + comm->operatorCount++ % 64;
  note(comm, "ncclRedOpCreatePreMulSum type=%d residence=%d", type, residence);
  return 0;
}

STAND_IN(ncclRedOpDestroy, int op, struct ncclComm *comm) {
  (void)op;
  note(comm, "ncclRedOpDestroy");
  return 0;
}

// Exchange

static uint64_t element(const char *memory, size_t index, int type) {
  uint64_t bits = 0;
  memcpy(&bits, memory + index * (size_t)types[type].bytes, (size_t)types[type].bytes);
  return bits;
}

static uint64_t multiplied(const struct ncclComm *comm, const struct op *op, uint64_t bits) {
  if (op->operation < NCCL_PREMUL_SUM) return bits;
  const struct operator *by = &comm->operators[op->operation - NCCL_PREMUL_SUM];
  uint64_t scalar = by->inDevice ? element((const char *)(uintptr_t)by->bits, 0, op->type) : by->bits;
  if (!is_float(op->type)) return low_bits(op->type, bits * scalar);
  return number_encode(op->type, number_decode(op->type, bits) * number_decode(op->type, scalar));
}

static uint64_t combined(int type, int operation, uint64_t one, uint64_t two) {
  if (is_float(type)) {
    double x = number_decode(type, one), y = number_decode(type, two);
    return number_encode(type, operation == NCCL_PROD  ? x * y
                               : operation == NCCL_MAX ? fmax(x, y)
                               : operation == NCCL_MIN ? fmin(x, y)
                                                       : x + y);
  }
  int less = types[type].is_signed ? sign_extend(type, one) < sign_extend(type, two) : one < two;
  return operation == NCCL_PROD  ? low_bits(type, one * two)
         : operation == NCCL_MAX ? (less ? two : one)
         : operation == NCCL_MIN ? (less ? one : two)
                                 : low_bits(type, one + two);
}

static uint64_t averaged(int type, int ranks, uint64_t sum) {
  if (is_float(type)) return number_encode(type, number_decode(type, sum) / ranks);
  return low_bits(type, types[type].is_signed ? (uint64_t)(sign_extend(type, sum) / ranks) : sum / (uint64_t)ranks);
}

static uint64_t reduced(struct clique *clique, size_t index) {
  uint64_t result = 0;
  const struct op *op = NULL;
  for (int i = 0; i < clique->ranks; i++) {
    const struct ncclComm *comm = clique->members[i];
    op = &comm->first->ops[0];
    uint64_t bits = multiplied(comm, op, element(op->send, index, op->type));
    result = i ? combined(op->type, op->operation, result, bits) : bits;
  }
  return op->operation == NCCL_AVG ? averaged(op->type, clique->ranks, result) : result;
}

static void reduce(struct clique *clique, int scatters) {
  const struct op *first = &clique->members[0]->first->ops[0];
  size_t bytes = (size_t)types[first->type].bytes, all = first->count * (scatters ? (size_t)clique->ranks : 1);
  char *results = malloc(all * bytes + 1);
  for (size_t i = 0; i < all; i++) {
    uint64_t bits = reduced(clique, i);
    memcpy(results + i * bytes, &bits, bytes);
  }
  for (int i = 0; i < clique->ranks; i++) {
    const struct op *op = &clique->members[i]->first->ops[0];
    int receives = strcmp(op->name, "ncclReduce") != 0 || op->peer == i;
    size_t at = scatters ? (size_t)i * op->count * bytes : 0;
    if (receives) memcpy(op->receive, results + at, op->count * bytes);
  }
  free(results);
}

static void gather(struct clique *clique) {
  for (int to = 0; to < clique->ranks; to++) {
    for (int from = 0; from < clique->ranks; from++) {
      const struct op *op = &clique->members[from]->first->ops[0];
      size_t bytes = op->count * (size_t)types[op->type].bytes;
      memmove(clique->members[to]->first->ops[0].receive + (size_t)from * bytes, op->send, bytes);
    }
  }
}

static void broadcast(struct clique *clique) {
  const struct op *root = &clique->members[clique->members[0]->first->ops[0].peer]->first->ops[0];
  for (int i = 0; i < clique->ranks; i++) {
    memmove(clique->members[i]->first->ops[0].receive, root->send, root->count * (size_t)types[root->type].bytes);
  }
}

static void receive_from(struct group *sender, int to, const struct op *receive) {
  for (int i = 0; i < sender->count; i++) {
    struct op *send = &sender->ops[i];
    if (send->used || strcmp(send->name, "ncclSend") != 0 || send->peer != to) continue;
    send->used = 1;
    memmove(receive->receive, send->send, send->count * (size_t)types[send->type].bytes);
    return;
  }
}

static void transfer(struct clique *clique) {
  for (int to = 0; to < clique->ranks; to++) {
    struct group *group = clique->members[to]->first;
    for (int i = 0; i < group->count; i++) {
      const struct op *op = &group->ops[i];
      if (strcmp(op->name, "ncclRecv") == 0) receive_from(clique->members[op->peer]->first, to, op);
    }
  }
}

/** Carries out the first groups of all ranks if their streams have come to them. */
static int carry_out(struct clique *clique) {
  for (int i = 0; i < clique->ranks; i++) {
    const struct ncclComm *comm = clique->members[i];
    if (!comm || !comm->first || !comm->first->arrived) return 0;
  }
  const char *name = clique->members[0]->first->ops[0].name;
  if (strcmp(name, "ncclAllReduce") == 0 || strcmp(name, "ncclReduce") == 0) {
    reduce(clique, 0);
  } else if (strcmp(name, "ncclReduceScatter") == 0) {
    reduce(clique, 1);
  } else if (strcmp(name, "ncclAllGather") == 0) {
    gather(clique);
  } else if (strcmp(name, "ncclBroadcast") == 0) {
    broadcast(clique);
  } else {
    transfer(clique);
  }
  for (int i = 0; i < clique->ranks; i++) {
    struct ncclComm *comm = clique->members[i];
    struct group *group = comm->first;
    comm->first = group->next;
    if (!comm->first) comm->last = NULL;
    __atomic_store_n(group->done, 1, __ATOMIC_RELEASE);
  }
  return 1;
}

struct arrival {
  struct clique *clique;
  struct group *group;
};

static void arrived(void *data) {
  struct arrival *arrival = data;
  pthread_mutex_lock(&lock);
  arrival->group->arrived = 1;
  while (carry_out(arrival->clique)) {}
  pthread_mutex_unlock(&lock);
  free(arrival);
}

/** Puts a group into its stream, which then waits until it is carried out. */
static int submit(struct ncclComm *comm, struct group *group, void *stream) {
  int (*allocate)(void **, size_t, unsigned) = driver("cuMemHostAlloc");
  int (*launch)(void *, void (*)(void *), void *) = driver("cuLaunchHostFunc");
  int (*operate)(void *, unsigned, void *, unsigned) = driver("cuStreamBatchMemOp_v2");
  if (comm->clique->joined < comm->clique->ranks) return 0;
  struct arrival *arrival = malloc(sizeof *arrival);
  *arrival = (struct arrival){comm->clique, group};
  int result = allocate((void **)&group->done, sizeof(uint64_t), 0);
  if (result) return 1;
  *group->done = 0;
  pthread_mutex_lock(&lock);
  if (comm->last) {
    comm->last->next = group;
  } else {
    comm->first = group;
  }
  comm->last = group;
  pthread_mutex_unlock(&lock);
  uint64_t operation[OPERATION_WORDS] = {1 /* wait for 32 bits */, (uintptr_t)group->done, 1, 0, 0, 0};
  result = launch(stream, arrived, arrival);
  if (!result) result = operate(stream, 1, operation, 0);
  return result ? 1 : 0;
}

static struct group *group_of(struct ncclComm *comm, void *stream) {
  for (int i = 0; i < pendingCount; i++) {
    if (pending[i].comm == comm) return pending[i].group;
  }
  pending[pendingCount].comm = comm;
  pending[pendingCount].stream = stream;
  pending[pendingCount].group = calloc(1, sizeof(struct group));
  return pending[pendingCount++].group;
}

static int stream_number(struct ncclComm *comm, void *stream) {
  int i = 0;
  while (comm->streams[i] && comm->streams[i] != stream) i++;
  comm->streams[i] = stream;
  return i;
}

static int add(struct ncclComm *comm, void *stream, struct op op) {
  note(comm, "%s count=%zu type=%d op=%d peer=%d stream=%d", op.name, op.count, op.type,
       op.operation > NCCL_PREMUL_SUM ? NCCL_PREMUL_SUM : op.operation, op.peer, stream_number(comm, stream));
  pthread_mutex_lock(&lock);
  struct group *group = group_of(comm, stream);
  group->ops[group->count++] = op;
  pthread_mutex_unlock(&lock);
  if (depth) return 0;
  pendingCount = 0;
  return submit(comm, group, stream);
}

STAND_IN(ncclGroupStart, void) {
  note(NULL, "ncclGroupStart");
  depth++;
  return 0;
}

STAND_IN(ncclGroupEnd, void) {
  int result = 0;
  note(NULL, "ncclGroupEnd");
  if (--depth) return 0;
  for (int i = 0; i < pendingCount && !result; i++) {
    result = submit(pending[i].comm, pending[i].group, pending[i].stream);
  }
  pendingCount = 0;
  return result;
}

STAND_IN(ncclAllReduce, char *send, char *receive, size_t count, int type, int op, struct ncclComm *comm, void *stream) {
  return add(comm, stream, (struct op){"ncclAllReduce", send, receive, count, type, op, 0, 0});
}

STAND_IN(ncclBroadcast, char *send, char *receive, size_t count, int type, int root, struct ncclComm *comm, void *stream) {
  return add(comm, stream, (struct op){"ncclBroadcast", send, receive, count, type, 0, root, 0});
}

STAND_IN(ncclReduce, char *send, char *receive, size_t count, int type, int op, int root, struct ncclComm *comm,
         void *stream) {
  return add(comm, stream, (struct op){"ncclReduce", send, receive, count, type, op, root, 0});
}

STAND_IN(ncclAllGather, char *send, char *receive, size_t count, int type, struct ncclComm *comm, void *stream) {
  return add(comm, stream, (struct op){"ncclAllGather", send, receive, count, type, 0, 0, 0});
}

STAND_IN(ncclReduceScatter, char *send, char *receive, size_t count, int type, int op, struct ncclComm *comm,
         void *stream) {
  return add(comm, stream, (struct op){"ncclReduceScatter", send, receive, count, type, op, 0, 0});
}

STAND_IN(ncclSend, char *send, size_t count, int type, int peer, struct ncclComm *comm, void *stream) {
  return add(comm, stream, (struct op){"ncclSend", send, NULL, count, type, 0, peer, 0});
}

STAND_IN(ncclRecv, char *receive, size_t count, int type, int peer, struct ncclComm *comm, void *stream) {
  return add(comm, stream, (struct op){"ncclRecv", NULL, receive, count, type, 0, peer, 0});
}
