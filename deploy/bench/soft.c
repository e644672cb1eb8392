// SPDX-License-Identifier: Apache-2.0
// Measures the speed of kernels on the software GPU, and beside each, in the same run, of plain C on all cores: a
// tiled matrix multiplication beside the triple loop, vector addition beside memcpy, sums beside sums. Every
// result is checked. A figure that has a target is followed by the target.
//
// Usage: soft [--json] [--rounds N]            kernels.ptx lies beside the program
//        soft --first NUMBER                   only the first launch, of a module that no other number has
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../examples/driver-api/driver.h"
#include "figures.h"

enum {
  ORDER = 1024,
  ELEMENTS = 16 << 20,
  THREADS = 256,
  STRIDING_BLOCKS = 256,
  MAX_CORES = 64,
  MAX_PATH = 4096,
  REFILL_SECONDS = 3
};

static int rounds = 5;
static int cores;
static int missed;

// ---- plain C on all cores

struct share {
  void (*work)(const void *a, const void *b, void *c, size_t begin, size_t end);
  const void *a, *b;
  void *c;
  size_t begin, end;
};

static void *run_share(void *argument) {
  struct share *share = argument;
  share->work(share->a, share->b, share->c, share->begin, share->end);
  return NULL;
}

static void on_all_cores(void (*work)(const void *, const void *, void *, size_t, size_t),
                         const void *a, const void *b, void *c, size_t count) {
  struct share shares[MAX_CORES];
  pthread_t threads[MAX_CORES];
  for (int i = 0; i < cores; i++) {
    shares[i] = (struct share){work, a, b, c, count * (size_t)i / (size_t)cores,
                               count * (size_t)(i + 1) / (size_t)cores};
    if (pthread_create(&threads[i], NULL, run_share, &shares[i]) != 0) {
      fail("no thread for a core");
    }
  }
  for (int i = 0; i < cores; i++) {
    pthread_join(threads[i], NULL);
  }
}

// The triple loop in the order that suits caches; rows are shared out.
static void multiply_rows(const void *a, const void *b, void *c, size_t begin, size_t end) {
  const float *left = a, *right = b;
  float *product = c;
  for (size_t i = begin; i < end; i++) {
    for (size_t j = 0; j < ORDER; j++) {
      product[i * ORDER + j] = 0;
    }
    for (size_t k = 0; k < ORDER; k++) {
      for (size_t j = 0; j < ORDER; j++) {
        product[i * ORDER + j] += left[i * ORDER + k] * right[k * ORDER + j];
      }
    }
  }
}

static void copy_bytes(const void *a, const void *b, void *c, size_t begin, size_t end) {
  (void)b;
  memcpy((char *)c + begin, (const char *)a + begin, end - begin);
}

static void add_floats(const void *a, const void *b, void *c, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    ((float *)c)[i] = ((const float *)a)[i] + ((const float *)b)[i];
  }
}

// Adds into the element of c that belongs to the share.
static void sum_floats(const void *a, const void *b, void *c, size_t begin, size_t end) {
  (void)b;
  float sum = 0;
  for (size_t i = begin; i < end; i++) {
    sum += ((const float *)a)[i];
  }
  ((float *)c)[begin * (size_t)cores / ELEMENTS] = sum;
}

// Sums within blocks of THREADS elements, as the kernel does.
static void scan_blocks(const void *a, const void *b, void *c, size_t begin, size_t end) {
  (void)b;
  int sum = 0;
  for (size_t i = begin; i < end; i++) {
    sum = i % THREADS == 0 ? 0 : sum;
    sum += ((const int *)a)[i];
    ((int *)c)[i] = sum;
  }
}

#define BEST_OF(count, first, best, statement) \
  do { \
    for (int round = 0; round < (count); round++) { \
      double start = now_seconds(); \
      statement; \
      double took = now_seconds() - start; \
      first = round == 0 ? took : first; \
      best = round == 0 || took < best ? took : best; \
    } \
  } while (0)

// ---- the software GPU

static CUmodule module;

static CUfunction kernel(const char *name) {
  CUfunction function;
  CHECK(cuModuleGetFunction(&function, module, name));
  return function;
}

static void launch(CUfunction function, unsigned x, unsigned y, unsigned block_x, unsigned block_y,
                   unsigned shared_bytes, void **parameters) {
  CHECK(cuLaunchKernel(function, x, y, 1, block_x, block_y, 1, shared_bytes, NULL, parameters, NULL));
  CHECK(cuCtxSynchronize());
}

// A figure that must not be over (or under) a limit.
static void judged(const char *name, double value, const char *unit, int at_most, double limit) {
  figure(name, value, unit);
  int met = at_most ? value <= limit : value >= limit;
  missed += !met;
  if (!figures_as_json) {
    printf("%-24s %12s at %s %g: %s\n", "", "", at_most ? "most" : "least", limit,
           met ? "met" : "MISSED");
  }
}

static CUdeviceptr allocate(size_t bytes, const void *content) {
  CUdeviceptr memory;
  CHECK(cuMemAlloc(&memory, bytes));
  if (content != NULL) {
    CHECK(cuMemcpyHtoD(memory, content, bytes));
  }
  return memory;
}

static void *room(size_t bytes) {
  void *memory = aligned_alloc(4096, bytes);
  if (memory == NULL) {
    fail("no memory for %zu bytes", bytes);
  }
  memset(memory, 0, bytes);
  return memory;
}

static void compare_floats(const char *what, const float *got, const float *wanted, size_t count,
                           float tolerance) {
  for (size_t i = 0; i < count; i++) {
    if (!(fabsf(got[i] - wanted[i]) <= tolerance * (1 + fabsf(wanted[i])))) {
      fail("%s: element %zu is %g, not %g", what, i, got[i], wanted[i]);
    }
  }
}

static void measure_multiplication(void) {
  size_t count = (size_t)ORDER * ORDER, bytes = count * sizeof(float);
  float *a = room(bytes), *b = room(bytes), *c = room(bytes), *got = room(bytes);
  for (size_t i = 0; i < count; i++) {
    a[i] = (float)(i * 7 % 31) / 16 - 1;
    b[i] = (float)(i * 13 % 29) / 16 - 1;
  }
  CUdeviceptr da = allocate(bytes, a), db = allocate(bytes, b), dc = allocate(bytes, NULL);
  int order = ORDER;
  void *parameters[] = {&da, &db, &dc, &order};
  double ignored, plain = 0;
  BEST_OF(3, ignored, plain, on_all_cores(multiply_rows, a, b, c, ORDER));
  (void)ignored;
  figure("multiply_c", plain, "s");
  for (unsigned tile = 16; tile <= 32; tile *= 2) {
    char name[32], figure_name[64];
    snprintf(name, sizeof name, "multiply_%u", tile);
    double first = 0, best = 0;
    CUfunction function = kernel(name);
    BEST_OF(rounds, first, best,
            launch(function, ORDER / tile, ORDER / tile, tile, tile, 0, parameters));
    CHECK(cuMemcpyDtoH(got, dc, bytes));
    compare_floats(name, got, c, count, 1e-4f);
    CHECK(cuMemsetD32(dc, 0, count));
    snprintf(figure_name, sizeof figure_name, "%s_first", name);
    figure(figure_name, first, "s");
    judged(name, best, "s", 1, 2.0);
    snprintf(figure_name, sizeof figure_name, "%s_to_c", name);
    judged(figure_name, best / plain, "times", 1, 10.0);
  }
  CHECK(cuMemFree(da));
  CHECK(cuMemFree(db));
  CHECK(cuMemFree(dc));
  free(a);
  free(b);
  free(c);
  free(got);
}

static void measure_addition(const float *a, const float *b, float *c, float *got, CUdeviceptr da,
                             CUdeviceptr db, CUdeviceptr dc) {
  size_t bytes = (size_t)ELEMENTS * sizeof(float);
  double ignored, copy = 0, plain = 0, alone = 0, first = 0, best = 0;
  BEST_OF(rounds, ignored, alone, memcpy(got, a, bytes));
  BEST_OF(rounds, ignored, copy, on_all_cores(copy_bytes, a, NULL, got, bytes));
  BEST_OF(rounds, ignored, plain, on_all_cores(add_floats, a, b, c, ELEMENTS));
  (void)ignored;
  int count = ELEMENTS;
  void *parameters[] = {&da, &db, &dc, &count};
  CUfunction add = kernel("add");
  BEST_OF(rounds, first, best, launch(add, ELEMENTS / THREADS, 1, THREADS, 1, 0, parameters));
  CHECK(cuMemcpyDtoH(got, dc, bytes));
  compare_floats("add", got, c, ELEMENTS, 0);
  // Bytes read and written, of both.
  copy = copy < alone ? copy : alone;
  double copy_rate = 2 * (double)bytes / copy / 1e9, rate = 3 * (double)bytes / best / 1e9;
  figure("memcpy", copy_rate, "GBps");
  figure("add_c", 3 * (double)bytes / plain / 1e9, "GBps");
  figure("add_first", 3 * (double)bytes / first / 1e9, "GBps");
  figure("add", rate, "GBps");
  judged("add_to_memcpy", rate / copy_rate * 100, "percent", 0, 30);
}

static void measure_sums(const float *a, float *got, CUdeviceptr da, CUdeviceptr dc) {
  double ignored, plain = 0;
  float parts[MAX_CORES];
  BEST_OF(rounds, ignored, plain, on_all_cores(sum_floats, a, NULL, parts, ELEMENTS));
  (void)ignored;
  double wanted = 0;
  for (size_t i = 0; i < ELEMENTS; i++) {
    wanted += (double)a[i];
  }
  figure("reduce_c", plain, "s");
  int count = ELEMENTS;
  void *parameters[] = {&da, &dc, &count};
  static const struct {
    const char *name, *first;
    unsigned blocks, shared_bytes;
  } KINDS[] = {{"reduce", "reduce_first", STRIDING_BLOCKS, 0},
               {"reduce_tree", "reduce_tree_first", ELEMENTS / THREADS / 2, THREADS * 4}};
  for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
    double first = 0, best = 0;
    CUfunction function = kernel(KINDS[kind].name);
    BEST_OF(rounds, first, best,
            launch(function, KINDS[kind].blocks, 1, THREADS, 1, KINDS[kind].shared_bytes, parameters));
    CHECK(cuMemcpyDtoH(got, dc, KINDS[kind].blocks * sizeof(float)));
    double sum = 0;
    for (unsigned i = 0; i < KINDS[kind].blocks; i++) {
      sum += (double)got[i];
    }
    if (fabs(sum - wanted) > 1e-4 * fabs(wanted)) {
      fail("%s: the sum is %g, not %g", KINDS[kind].name, sum, wanted);
    }
    figure(KINDS[kind].first, first, "s");
    judged(KINDS[kind].name, best, "s", 1, 0.15);
  }
}

static void measure_scan(int *a, int *c, int *got, CUdeviceptr da, CUdeviceptr dc) {
  size_t bytes = (size_t)ELEMENTS * sizeof(int);
  for (int i = 0; i < ELEMENTS; i++) {
    a[i] = (int)((unsigned)i * 2654435761u >> 20);
  }
  CHECK(cuMemcpyHtoD(da, a, bytes));
  double ignored, plain = 0, first = 0, best = 0;
  BEST_OF(rounds, ignored, plain, on_all_cores(scan_blocks, a, NULL, c, ELEMENTS));
  (void)ignored;
  int count = ELEMENTS;
  void *parameters[] = {&da, &dc, &count};
  CUfunction scan = kernel("scan");
  BEST_OF(rounds, first, best, launch(scan, ELEMENTS / THREADS, 1, THREADS, 1, 0, parameters));
  CHECK(cuMemcpyDtoH(got, dc, bytes));
  if (memcmp(got, c, bytes) != 0) {
    fail("scan: the sums differ");
  }
  figure("scan_c", plain, "s");
  figure("scan_first", first, "s");
  figure("scan", best, "s");
}

static void measure_vectors(void) {
  size_t bytes = (size_t)ELEMENTS * sizeof(float);
  float *a = room(bytes), *b = room(bytes), *c = room(bytes), *got = room(bytes);
  for (int i = 0; i < ELEMENTS; i++) {
    a[i] = (float)(i % 1000) / 1000;
    b[i] = (float)(i % 77);
  }
  CUdeviceptr da = allocate(bytes, a), db = allocate(bytes, b), dc = allocate(bytes, b);
  measure_addition(a, b, c, got, da, db, dc);
  measure_sums(a, got, da, dc);
  measure_scan((int *)a, (int *)c, (int *)got, da, dc);
  CHECK(cuMemFree(da));
  CHECK(cuMemFree(db));
  CHECK(cuMemFree(dc));
  free(a);
  free(b);
  free(c);
  free(got);
}

// ---- the first launch

static char *beside_program(const char *name, char *path) {
  ssize_t length = readlink("/proc/self/exe", path, MAX_PATH - 32);
  if (length < 0) {
    fail("cannot tell where this program is: %m");
  }
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, name);
  return path;
}

static void start(void) {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuCtxSynchronize());
}

// Prints the seconds to load a module, and then to run a small kernel of it for the first time.
static void first_launch(char *ptx, const char *number) {
  size_t length = strlen(ptx);
  char *numbered = room((length + strlen(number) + 16 + 4095) & ~(size_t)4095);
  sprintf(numbered, "%s\n// %s\n", ptx, number);
  CUdeviceptr memory;
  start();
  CHECK(cuMemAlloc(&memory, THREADS * sizeof(int)));
  CHECK(cuCtxSynchronize());
  double begin = now_seconds();
  CHECK(cuModuleLoadData(&module, numbered));
  double loaded = now_seconds();
  int value = 7, got[THREADS] = {0};
  void *parameters[] = {&memory, &value};
  launch(kernel("store"), 1, 1, THREADS, 1, 0, parameters);
  double done = now_seconds();
  CHECK(cuMemcpyDtoH(got, memory, sizeof got));
  if (got[0] != value || got[THREADS - 1] != value) {
    fail("store: the values are %d and %d, not %d", got[0], got[THREADS - 1], value);
  }
  printf("%.6f %.6f\n", loaded - begin, done - loaded);
}

// In a process, and so in a worker, of its own, which was warmed up but has seen no program yet. The
// pool needs a moment to have such a worker again.
static void measure_first(const char *when, const char *number) {
  sleep(REFILL_SECONDS);
  int ends[2];
  if (pipe(ends) != 0) {
    fail("no pipe: %m");
  }
  pid_t child = fork();
  if (child == 0) {
    char path[MAX_PATH];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execl(path, path, "--first", number, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  char line[512] = {0};
  size_t got = 0;
  for (ssize_t part = 1; part > 0 && got < sizeof line - 1; got += part > 0 ? (size_t)part : 0) {
    part = read(ends[0], line + got, sizeof line - 1 - got);
  }
  close(ends[0]);
  int status = 0;
  double load = 0, first = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
      sscanf(line, "%lf %lf", &load, &first) != 2) {
    fail("the program that launches first: %s", line);
  }
  char name[64];
  snprintf(name, sizeof name, "load_%s", when);
  figure(name, load * 1e3, "ms");
  snprintf(name, sizeof name, "first_launch_%s", when);
  judged(name, first * 1e3, "ms", 1, 50);
}

int main(int argc, char **argv) {
  char path[MAX_PATH];
  char *ptx = read_text(beside_program("kernels.ptx", path));
  for (int i = 1; i < argc; i++) {
    long value = i + 1 < argc ? strtol(argv[i + 1], NULL, 10) : 0;
    if (strcmp(argv[i], "--json") == 0) {
      figures_as_json = 1;
      continue;
    } else if (value > 0 && strcmp(argv[i], "--first") == 0) {
      first_launch(ptx, argv[i + 1]);
      return 0;
    } else if (value > 0 && value <= 1000 && strcmp(argv[i], "--rounds") == 0) {
      rounds = (int)value;
    } else {
      fprintf(stderr, "usage: soft [--json] [--rounds N]\n");
      exit(2);
    }
    i++;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  cores = online < 1 ? 1 : online > MAX_CORES ? MAX_CORES : (int)online;
  char number[32];
  snprintf(number, sizeof number, "%ld", (long)(now_seconds() * 1e6) % 1000000007 + 1);
  measure_first("cold", number);
  measure_first("cached", number);
  sleep(REFILL_SECONDS);
  start();
  CHECK(cuModuleLoadData(&module, ptx));
  measure_multiplication();
  measure_vectors();
  figure("targets_missed", missed, "count");
  figures_end();
  free(ptx);
  return 0;
}
