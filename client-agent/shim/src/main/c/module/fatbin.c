// SPDX-License-Identifier: Apache-2.0
#include "module/fatbin.h"

#include <stdio.h>
#include <string.h>

enum { KIND_PTX = 1, KIND_ELF = 2, MAX_ENTRIES = 4096 };

/** The beginning of an entry's header. */
struct entry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bodyBytes;
  uint32_t packedBytes, optionsOffset;
  uint16_t minor, major;
  uint32_t architecture;
};

/** The best code for one GPU: architectures, 0 if there is none. */
struct best {
  uint32_t elf, ptx;
};

uint64_t fatbin_bytes(const void *at) {
  struct fatbin fatbin;
  memcpy(&fatbin, at, sizeof fatbin);
  bool is = fatbin.magic == (uint32_t)FATBIN_MAGIC && fatbin.bodyBytes <= MAX_IMAGE_BYTES;
  return is ? fatbin.headerBytes + fatbin.bodyBytes : 0;
}

/** The entry at an offset of the body; its length, header included, or 0 if it is none. */
static uint64_t read_entry(const uint8_t *body, uint64_t bodyBytes, uint64_t offset, struct entry *entry) {
  if (bodyBytes - offset < sizeof *entry) return 0;
  memcpy(entry, body + offset, sizeof *entry);
  uint64_t left = bodyBytes - offset;
  bool fits = entry->headerBytes >= sizeof *entry && entry->headerBytes <= left &&
              entry->bodyBytes <= left - entry->headerBytes;
  return fits ? entry->headerBytes + entry->bodyBytes : 0;
}

static bool runs(const struct entry *entry, uint32_t capability) {
  if (entry->architecture > capability) return false;
  if (entry->kind == KIND_PTX) return true;
  return entry->kind == KIND_ELF && entry->architecture / 10 == capability / 10;
}

static void note(struct best *best, const struct entry *entry) {
  uint32_t *newest = entry->kind == KIND_PTX ? &best->ptx : &best->elf;
  if (entry->architecture > *newest) *newest = entry->architecture;
}

static bool wanted(const struct best *best, uint32_t count, const struct entry *entry) {
  if (entry->kind != KIND_PTX && entry->kind != KIND_ELF) return true;
  for (uint32_t i = 0; i < count; i++) {
    if (entry->architecture == (entry->kind == KIND_PTX ? best[i].ptx : best[i].elf)) return true;
  }
  return false;
}

/** Finds the best entry for each GPU; false if there is none for one, or this is no fatbin. */
static bool find_best(const uint8_t *body, uint64_t bodyBytes, const uint32_t *capabilities, uint32_t count,
                      struct best *best) {
  struct entry entry;
  uint32_t entries = 0;
  memset(best, 0, count * sizeof *best);
  for (uint64_t offset = 0, bytes; offset < bodyBytes; offset += bytes) {
    bytes = read_entry(body, bodyBytes, offset, &entry);
    if (!bytes || ++entries > MAX_ENTRIES) return false;
    for (uint32_t i = 0; i < count; i++) {
      if (runs(&entry, capabilities[i])) note(&best[i], &entry);
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!best[i].elf && !best[i].ptx) return false;
  }
  return true;
}

/** Adds an entry to the pieces, to the last one if it follows that; false if there is no room. */
static bool keep(struct fatbin_choice *choice, const uint8_t *at, uint64_t bytes) {
  struct piece *last = &choice->pieces[choice->pieceCount - 1];
  choice->header.bodyBytes += bytes;
  if (choice->pieceCount > 1 && (const uint8_t *)last->at + last->bytes == at) {
    last->bytes += bytes;
    return true;
  }
  if (choice->pieceCount == MAX_FATBIN_PIECES) return false;
  choice->pieces[choice->pieceCount++] = (struct piece){at, bytes};
  return true;
}

void fatbin_choose(const void *at, const uint32_t *capabilities, uint32_t count, struct fatbin_choice *choice) {
  struct best best[MAX_CAPABILITIES];
  struct entry entry;
  choice->pieceCount = 0;
  memcpy(&choice->header, at, sizeof choice->header);
  const uint8_t *body = (const uint8_t *)at + choice->header.headerBytes;
  uint64_t bodyBytes = choice->header.bodyBytes;
  if (!count || count > MAX_CAPABILITIES || choice->header.headerBytes != sizeof choice->header ||
      !find_best(body, bodyBytes, capabilities, count, best)) {
    return;
  }
  choice->header.bodyBytes = 0;
  choice->pieces[0] = (struct piece){&choice->header, sizeof choice->header};
  choice->pieceCount = 1;
  for (uint64_t offset = 0, bytes; offset < bodyBytes; offset += bytes) {
    bytes = read_entry(body, bodyBytes, offset, &entry);
    if (wanted(best, count, &entry) && !keep(choice, body + offset, bytes)) {
      choice->pieceCount = 0;
      return;
    }
  }
}

/** Adds the architectures of one kind of entry to a text, each once if equals follow each other. */
static size_t add_architectures(const uint8_t *body, uint64_t bodyBytes, uint16_t kind, const char *title, char *text,
                                size_t textBytes) {
  struct entry entry;
  uint32_t last = 0;
  size_t length = 0;
  for (uint64_t offset = 0, bytes; offset < bodyBytes && length < textBytes; offset += bytes) {
    bytes = read_entry(body, bodyBytes, offset, &entry);
    if (!bytes) break;
    if (entry.kind != kind || entry.architecture == last) continue;
    const char *before = last ? ", " : title;
    int written = snprintf(text + length, textBytes - length, "%s%u.%u", before, entry.architecture / 10,
                           entry.architecture % 10);
    length += written > 0 ? (size_t)written : 0;
    last = entry.architecture;
  }
  return length < textBytes ? length : textBytes - 1;
}

void fatbin_describe(const void *at, char *text, size_t textBytes) {
  struct fatbin header;
  memcpy(&header, at, sizeof header);
  const uint8_t *body = (const uint8_t *)at + header.headerBytes;
  text[0] = '\0';
  size_t length = add_architectures(body, header.bodyBytes, KIND_ELF, "machine code for ", text, textBytes);
  add_architectures(body, header.bodyBytes, KIND_PTX, length ? "; PTX for " : "PTX for ", text + length,
                    textBytes - length);
}
