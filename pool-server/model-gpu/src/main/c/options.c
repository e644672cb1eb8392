// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEBIBYTES (1ull << 20)
#define GIBIBYTES (1ull << 30)

struct options options;

static const struct options usual = {
    .gpus = 1,
    .version = 13000,
    .multiprocessors = 132,
    .queue = 1024,
    .hints = 1,
    .memoryBytes = 8 * GIBIBYTES,
    .contextBytes = 400 * MEBIBYTES,
    .codeBytes = 64 << 10,
    .kernelNanos = 5000,
    .sliceNanos = 2000000,
    .switchNanos = 20000,
    .copyBytesPerSecond = 20 * GIBIBYTES,
    .fillBytesPerSecond = 1000 * GIBIBYTES,
};

static const struct {
  const char *key;
  size_t offset, bytes;
  uint64_t least, most;
} keys[] = {
#define KEY(key, field, least, most) \
  {key, offsetof(struct options, field), sizeof options.field, least, most}
    KEY("gpus", gpus, 1, MAX_CARDS),
    KEY("version", version, 11000, 99000),
    KEY("init", init, 0, 999),
    KEY("sm", multiprocessors, 1, 1024),
    KEY("queue", queue, 1, 1 << 20),
    KEY("mem", memoryBytes, 64 * MEBIBYTES, 1024 * GIBIBYTES),
    KEY("context", contextBytes, 0, 8 * GIBIBYTES),
    KEY("code", codeBytes, 0, GIBIBYTES),
    KEY("kernel", kernelNanos, 1, 1000000000),
    KEY("slice", sliceNanos, 1000, 1000000000),
    KEY("switch", switchNanos, 0, 1000000000),
    KEY("variables", variables, 0, 1),
    KEY("hints", hints, 0, 1),
    KEY("copy", copyBytesPerSecond, MEBIBYTES, 1024 * 1024 * GIBIBYTES),
    KEY("fill", fillBytesPerSecond, MEBIBYTES, 1024 * 1024 * GIBIBYTES),
#undef KEY
};

/** A number with Ki, Mi, Gi, us or ms behind it, or nothing. */
static bool read_number(const char *text, uint64_t *value) {
  static const struct {
    const char *unit;
    uint64_t factor;
  } units[] = {{"", 1}, {"Ki", 1 << 10}, {"Mi", MEBIBYTES}, {"Gi", GIBIBYTES}, {"us", 1000}, {"ms", 1000000}};
  char *end;
  if (!isdigit((unsigned char)*text)) return false;
  *value = strtoull(text, &end, 10);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (strcmp(end, units[i].unit)) continue;
    return !__builtin_mul_overflow(*value, units[i].factor, value);
  }
  return false;
}

static const char *set(const char *key, const char *value) {
  static char problem[160];
  uint64_t number;
  if (!strcmp(key, "name")) {
    bool plain = *value && strlen(value) < NAME_BYTES && !strpbrk(value, "/.");
    snprintf(options.name, NAME_BYTES, "%s", value);
    return plain ? NULL : "GPUPOOL_MODEL: name= is up to 63 letters without / and .";
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (strcmp(key, keys[i].key)) continue;
    if (!read_number(value, &number) || number < keys[i].least || number > keys[i].most) {
      snprintf(problem, sizeof problem, "GPUPOOL_MODEL: %s=%.40s is not a number from %llu to %llu", key, value,
               (unsigned long long)keys[i].least, (unsigned long long)keys[i].most);
      return problem;
    }
    char *field = (char *)&options + keys[i].offset;
    if (keys[i].bytes == sizeof(uint32_t)) {
      *(uint32_t *)(void *)field = (uint32_t)number;
    } else {
      *(uint64_t *)(void *)field = number;
    }
    return NULL;
  }
  snprintf(problem, sizeof problem, "GPUPOOL_MODEL: %.40s= is not known", key);
  return problem;
}

/** Processes that say the same share their cards. */
static void choose_name(const char *text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
  snprintf(options.name, sizeof options.name, "%016llx", (unsigned long long)hash);
}

static const char *join_mps(void) {
  const char *text = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  uint64_t percent;
  if (!text) return NULL;
  if (!read_number(text, &percent) || percent < 1 || percent > 100) {
    return "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is a number from 1 to 100";
  }
  uint32_t part = (uint32_t)(options.multiprocessors * percent / 100);
  options.multiprocessors = part ? part : 1;
  options.isMpsClient = true;
  return NULL;
}

const char *options_read(const char *text) {
  char copy[1024];
  options = usual;
  choose_name(text ? text : "");
  if (!text) return join_mps();
  if (strlen(text) >= sizeof copy) return "GPUPOOL_MODEL is too long";
  strcpy(copy, text);
  for (char *rest = copy, *word; (word = strsep(&rest, ","));) {
    if (!*word) continue;
    char *key = strsep(&word, "=");
    const char *problem = set(key, word ? word : "");
    if (problem) return problem;
  }
  return join_mps();
}
