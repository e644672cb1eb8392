// SPDX-License-Identifier: Apache-2.0
// Records of sealed call streams: against golden ones, which another implementation made and the worker's test reads,
// too; and altered in every bit.
#include "harness.h"
#include "seal/record.h"

#include <string.h>

#define GOLDEN_FILE "../../protocol/contract/src/test/golden/seal-records.txt"

static uint8_t record[SEAL_RECORD_BYTES], content[SEAL_RECORD_BYTES];

static const uint8_t *secret_of(uint8_t first) {
  static uint8_t secret[SEAL_SECRET_BYTES];
  for (int i = 0; i < SEAL_SECRET_BYTES; i++) secret[i] = (uint8_t)(first + i);
  return secret;
}

static struct seal_direction begun(enum seal_end end, bool opens) {
  struct seal_direction direction = {0};
  CHECK(seal_begin(&direction, secret_of(0), end, opens));
  return direction;
}

static size_t sealed(struct seal_direction *direction, const void *bytes, size_t count) {
  struct iovec vector = {(void *)bytes, count};
  return seal_record(direction, &vector, count, record);
}

static void compare(FILE *file, const char *name, size_t bytes) {
  char line[256], expected[256];
  int length = snprintf(expected, sizeof expected, "%s ", name);
  for (size_t i = 0; i < bytes; i++) length += snprintf(expected + length, sizeof expected - (size_t)length, "%02x", record[i]);
  CHECK(fgets(line, sizeof line, file));
  line[strcspn(line, "\n")] = '\0';
  if (strcmp(line, expected) != 0) fprintf(stderr, "golden: %s\nsealed: %s\n", line, expected);
  CHECK(!strcmp(line, expected));
}

static void records_ofTwoKeys_areTheGoldenOnes(void) {
  FILE *file = fopen(GOLDEN_FILE, "r");
  char line[256], name[64], text[64];
  CHECK(file && fgets(line, sizeof line, file));
  for (int end = SEAL_BY_PROGRAM; end <= SEAL_BY_WORKER; end++) {
    const char *who = end == SEAL_BY_PROGRAM ? "program" : "worker";
    struct seal_direction seals = begun((enum seal_end)end, false), opens = begun((enum seal_end)end, true);
    seals.recordsPerKey = opens.recordsPerKey = 2;
    for (int i = 0; i < 4; i++) {
      snprintf(name, sizeof name, "%s-%d-record-%d", who, i / 2, i % 2);
      snprintf(text, sizeof text, "%s record %d of key %d", who, i % 2, i / 2);
      size_t bytes = sealed(&seals, text, strlen(text));
      compare(file, name, bytes);
      CHECK(seal_open(&opens, record, bytes, content) == strlen(text) && !memcmp(content, text, strlen(text)));
    }
  }
  CHECK(!fgets(line, sizeof line, file));
  fclose(file);
}

static void record_ofSeveralBuffers_opensAsTheirBytes(void) {
  static uint8_t bytes[SEAL_CONTENT_BYTES];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
  struct seal_direction seals = begun(SEAL_BY_WORKER, false), opens = begun(SEAL_BY_WORKER, true);
  for (size_t cut = 0; cut <= sizeof bytes; cut += 1021) {
    struct iovec vector[] = {{bytes, cut}, {bytes, 0}, {bytes + cut, sizeof bytes - cut}};
    size_t length = seal_record(&seals, vector, sizeof bytes, record);
    CHECK(length == SEAL_RECORD_BYTES && seal_record_bytes(record) == length);
    CHECK(seal_open(&opens, record, length, content) == sizeof bytes && !memcmp(content, bytes, sizeof bytes));
  }
}

static void record_ofAnotherPlaceDirectionOrSecret_isNotOpened(void) {
  struct seal_direction seals = begun(SEAL_BY_WORKER, false), opens = begun(SEAL_BY_WORKER, true);
  struct seal_direction other = begun(SEAL_BY_PROGRAM, true), stranger = {0};
  CHECK(seal_begin(&stranger, secret_of(1), SEAL_BY_WORKER, true));
  size_t bytes = sealed(&seals, "first", 5);
  CHECK(!seal_open(&other, record, bytes, content));
  CHECK(!seal_open(&stranger, record, bytes, content));
  CHECK(seal_open(&opens, record, bytes, content) == 5);
  CHECK(!seal_open(&opens, record, bytes, content));  // replayed
  bytes = sealed(&seals, "second", 6);
  opens = begun(SEAL_BY_WORKER, true);
  CHECK(!seal_open(&opens, record, bytes, content));  // the first one was left out
}

/** A million of them: records of many lengths, each with every bit flipped in turn. */
static void record_withAnyBitFlipped_isNotOpened(void) {
  static uint8_t bytes[600];
  struct seal_direction seals = begun(SEAL_BY_PROGRAM, false), opens = begun(SEAL_BY_PROGRAM, true);
  size_t flips = 0;
  for (size_t count = 1; flips < 1000000; count = count % sizeof bytes + 1) {
    uint64_t place = seals.sequence;
    size_t length = sealed(&seals, bytes, count);
    for (size_t bit = 0; bit < 8 * length; bit++, flips++) {
      record[bit / 8] ^= (uint8_t)(1 << bit % 8);
      opens.sequence = place;
      CHECK(!seal_open(&opens, record, length, content));
      record[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    opens.sequence = place;
    CHECK(seal_open(&opens, record, length, content) == count);
  }
}

static void header_ofAnotherTypeVersionOrLength_isNone(void) {
  uint8_t header[SEAL_HEADER_BYTES] = {23, 3, 3, 0, 18};
  CHECK(seal_record_bytes(header) == SEAL_HEADER_BYTES + 18);
  for (int i = 0; i < 3; i++) {
    header[i]++;
    CHECK(!seal_record_bytes(header));
    header[i]--;
  }
  header[4] = 17;  // nothing in it
  CHECK(!seal_record_bytes(header));
  header[3] = 0x40;
  header[4] = 17;
  CHECK(seal_record_bytes(header) == SEAL_RECORD_BYTES);
  header[4] = 18;
  CHECK(!seal_record_bytes(header));
}

int main(void) {
  CASE(records_ofTwoKeys_areTheGoldenOnes);
  CASE(record_ofSeveralBuffers_opensAsTheirBytes);
  CASE(record_ofAnotherPlaceDirectionOrSecret_isNotOpened);
  CASE(record_withAnyBitFlipped_isNotOpened);
  CASE(header_ofAnotherTypeVersionOrLength_isNone);
  return test_result();
}
