// SPDX-License-Identifier: Apache-2.0
// The parts of a fatbin that each GPU gets, and the digest by which servers know it.
#include "module/sha256.h"
#include "module/fatbin.h"
#include "harness.h"

#include <string.h>

enum { PTX = 1, ELF = 2, LTO = 8, HEADER_BYTES = 64, BODY_BYTES = 24 };

struct sample {
  uint16_t kind;
  uint32_t architecture;
};

/** Lays out a container; the body of each entry is its own number, over and over. */
static uint8_t *container(const struct sample *samples, uint32_t count) {
  uint32_t bodyBytes = count * (HEADER_BYTES + BODY_BYTES);
  uint8_t *bytes = calloc(1, sizeof(struct fatbin) + bodyBytes);
  struct fatbin header = {0xba55ed50, 1, sizeof header, bodyBytes};
  memcpy(bytes, &header, sizeof header);
  for (uint32_t i = 0; i < count; i++) {
    uint8_t *entry = bytes + sizeof header + i * (HEADER_BYTES + BODY_BYTES);
    uint32_t headerBytes = HEADER_BYTES;
    uint64_t body = BODY_BYTES;
    memcpy(entry, &samples[i].kind, 2);
    memcpy(entry + 4, &headerBytes, 4);
    memcpy(entry + 8, &body, 8);
    memcpy(entry + 28, &samples[i].architecture, 4);
    memset(entry + HEADER_BYTES, (int)i, BODY_BYTES);
  }
  return bytes;
}

/** The numbers of the entries that are chosen, as digits; "all" if no choice was made. */
static const char *chosen(const struct sample *samples, uint32_t count, const uint32_t *capabilities,
                          uint32_t gpus) {
  static char text[80];
  static struct fatbin_choice choice;
  uint8_t *bytes = container(samples, count);
  size_t length = 0;
  uint64_t total = 0;
  fatbin_choose(bytes, capabilities, gpus, &choice);
  if (!choice.pieceCount) return "all";
  CHECK(choice.pieces[0].at == &choice.header);
  for (uint32_t i = 1; i < choice.pieceCount; i++) {
    const uint8_t *at = choice.pieces[i].at;
    total += choice.pieces[i].bytes;
    for (uint64_t offset = 0; offset < choice.pieces[i].bytes; offset += HEADER_BYTES + BODY_BYTES) {
      text[length++] = (char)('0' + at[offset + HEADER_BYTES]);
    }
  }
  CHECK(total == choice.header.bodyBytes);
  text[length] = '\0';
  free(bytes);
  return text;
}

static const struct sample many[] = {{ELF, 75}, {ELF, 80}, {ELF, 86}, {ELF, 90}, {ELF, 120}, {PTX, 90}, {PTX, 120}};

#define CHOSEN(samples, ...) \
  chosen(samples, sizeof samples / sizeof *samples, (const uint32_t[]){__VA_ARGS__}, \
         sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void choice_forOneGpu_isTheNewestOfItsGenerationAndTheNewestPtxNotNewer(void) {
  CHECK(strcmp(CHOSEN(many, 75), "0") == 0);
  CHECK(strcmp(CHOSEN(many, 89), "2") == 0);
  CHECK(strcmp(CHOSEN(many, 90), "35") == 0);
  CHECK(strcmp(CHOSEN(many, 120), "46") == 0);
  // A generation that no machine code is of.
  CHECK(strcmp(CHOSEN(many, 103), "5") == 0);
}

static void choice_forSeveralGpus_hasWhatEachNeeds(void) { CHECK(strcmp(CHOSEN(many, 80, 90), "135") == 0); }

static void choice_whereAGpuHasNothing_isAll(void) {
  CHECK(strcmp(CHOSEN(many, 70), "all") == 0);
  CHECK(strcmp(CHOSEN(many, 90, 70), "all") == 0);
}

static void choice_ofEqualsAndOtherKinds_keepsThemAll(void) {
  static const struct sample twice[] = {{ELF, 90}, {LTO, 75}, {ELF, 80}, {ELF, 90}};
  CHECK(strcmp(CHOSEN(twice, 90), "013") == 0);
}

static void choice_ofADamagedContainer_isAll(void) {
  struct fatbin_choice choice;
  const uint32_t capability = 90;
  uint32_t count = sizeof many / sizeof *many, length = (uint32_t)sizeof(struct fatbin) + count * (HEADER_BYTES + BODY_BYTES);
  for (uint32_t at = sizeof(struct fatbin); at < length; at++) {
    uint8_t *bytes = container(many, count);
    memset(bytes + at, 0xff, at + 8 <= length ? 8 : length - at);
    fatbin_choose(bytes, &capability, 1, &choice);
    uint64_t body = 0;
    for (uint32_t i = 1; i < choice.pieceCount; i++) {
      const uint8_t *begin = choice.pieces[i].at;
      CHECK(begin >= bytes && begin + choice.pieces[i].bytes <= bytes + length);
      body += choice.pieces[i].bytes;
    }
    CHECK(!choice.pieceCount || body == choice.header.bodyBytes);
    free(bytes);
  }
}

static void check_digest(const char *text, size_t times, const char *expected) {
  struct sha256 digest;
  uint8_t result[SHA256_BYTES];
  char hex[2 * SHA256_BYTES + 1];
  sha256_begin(&digest);
  for (size_t i = 0; i < times; i++) sha256_add(&digest, text, strlen(text));
  sha256_end(&digest, result);
  for (int i = 0; i < SHA256_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", result[i]);
  CHECK(strcmp(hex, expected) == 0);
}

static void digest_ofTheStandardsExamples_isTheirs(void) {
  check_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  check_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  check_digest("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  CASE(choice_forOneGpu_isTheNewestOfItsGenerationAndTheNewestPtxNotNewer);
  CASE(choice_forSeveralGpus_hasWhatEachNeeds);
  CASE(choice_whereAGpuHasNothing_isAll);
  CASE(choice_ofEqualsAndOtherKinds_keepsThemAll);
  CASE(choice_ofADamagedContainer_isAll);
  CASE(digest_ofTheStandardsExamples_isTheirs);
  return test_result();
}
