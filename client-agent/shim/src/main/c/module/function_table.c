// SPDX-License-Identifier: Apache-2.0
#include "module/function_table.h"

#include "core/inflate.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define PACKED UINT32_MAX  // in place of the first name's length

enum { MAX_PARAMETERS = 8192, MAX_PARAMETER_BYTES = 64 << 10 };

static uint32_t hash(const char *name, uint64_t bytes) {
  uint32_t value = 2166136261u;
  for (uint64_t i = 0; i < bytes; i++) value = (value ^ (uint8_t)name[i]) * 16777619u;
  return value;
}

static void link_info(struct function_table *table, struct function_info *info) {
  struct function_info **bucket =
      &table->buckets[hash(info->name, strlen(info->name)) % table->bucketCount];
  info->next = *bucket;
  *bucket = info;
}

static bool grow(struct function_table *table) {
  uint32_t capacity = table->capacity ? 2 * table->capacity : 16;
  struct function_info **infos = realloc(table->infos, capacity * sizeof *infos);
  if (!infos) return false;
  table->infos = infos;
  struct function_info **buckets = calloc(2 * capacity, sizeof *buckets);
  if (!buckets) return false;
  free(table->buckets);
  table->buckets = buckets;
  table->bucketCount = 2 * capacity;
  table->capacity = capacity;
  for (uint32_t i = 0; i < table->count; i++) link_info(table, infos[i]);
  return true;
}

static struct function_info *find(const struct function_table *table, const char *name, uint64_t bytes) {
  if (!table->bucketCount) return NULL;
  struct function_info *info = table->buckets[hash(name, bytes) % table->bucketCount];
  while (info && (strncmp(info->name, name, bytes) != 0 || info->name[bytes])) info = info->next;
  return info;
}

struct function_info *table_find(const struct function_table *table, const char *name) {
  return find(table, name, strlen(name));
}

/** Copies the parameters; false if they do not make sense. */
static bool set_parameters(struct function_info *info, const uint8_t *parameters) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < info->parameterCount; i++) {
    struct parameter *parameter = &info->parameters[i];
    memcpy(parameter, parameters + i * sizeof *parameter, sizeof *parameter);
    uint64_t parameterEnd = (uint64_t)parameter->offset + parameter->bytes;
    if (parameterEnd > MAX_PARAMETER_BYTES) return false;
    if (parameter->offset != end) info->gaps = true;
    if (parameterEnd > end) end = parameterEnd;
  }
  info->parameterBytes = (uint32_t)end;
  return true;
}

struct function_info *table_add(struct function_table *table, const char *name, uint64_t nameBytes,
                                const uint8_t *parameters, uint64_t parameterCount) {
  if (parameterCount > MAX_PARAMETERS) return NULL;
  if (table->count == table->capacity && !grow(table)) return NULL;
  size_t fixed = sizeof(struct function_info) + parameterCount * sizeof(struct parameter);
  struct function_info *info = calloc(1, fixed + nameBytes + 1);
  if (!info) return NULL;
  info->name = (char *)info + fixed;
  memcpy(info->name, name, nameBytes);
  info->parameterCount = (uint32_t)parameterCount;
  if (!set_parameters(info, parameters)) {
    free(info);
    return NULL;
  }
  info->index = table->count;
  table->infos[table->count++] = info;
  link_info(table, info);
  return info;
}

static bool parse(struct function_table *table, const uint8_t *bytes, uint64_t length, uint32_t *entries) {
  uint64_t at = 0;
  *entries = 0;
  while (at < length) {
    uint32_t head[2];
    if (length - at < sizeof head) return false;
    memcpy(head, bytes + at, sizeof head);
    at += sizeof head;
    uint64_t nameBytes = ((uint64_t)head[0] + 7) & ~(uint64_t)7;
    uint64_t parameterBytes = (uint64_t)head[1] * sizeof(struct parameter);
    if (nameBytes > length - at || parameterBytes > length - at - nameBytes) return false;
    const char *name = (const char *)bytes + at;
    if (!find(table, name, head[0]) && !table_add(table, name, head[0], bytes + at + nameBytes, head[1])) {
      return false;
    }
    at += nameBytes + parameterBytes;
    ++*entries;
  }
  return true;
}

bool table_parse(struct function_table *table, const uint8_t *bytes, uint64_t length, uint32_t *entries) {
  uint32_t head[2] = {0};
  if (length > sizeof head) memcpy(head, bytes, sizeof head);
  if (head[0] != PACKED || length > UINT32_MAX) return parse(table, bytes, length, entries);
  uint8_t *list = head[1] <= MAX_DATA_BYTES ? malloc(head[1]) : NULL;
  bool good = list && inflate_all(bytes + sizeof head, (uint32_t)(length - sizeof head), list, head[1]) &&
              parse(table, list, head[1], entries);
  free(list);
  return good;
}

void table_free(struct function_table *table) {
  for (uint32_t i = 0; i < table->count; i++) free(table->infos[i]);
  free(table->infos);
  free(table->buckets);
  *table = (struct function_table){0};
}
