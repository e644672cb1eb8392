// SPDX-License-Identifier: Apache-2.0
// Records: the bytes of a call stream, sealed in one direction of one connection. They are laid out as those of TLS 1.3
// (RFC 8446, 5.2), with AES-128-GCM:
//   u8 23 | u8 3 | u8 3 | u16 bytes that follow, big-endian | content, u8 23, encrypted | tag of 16 bytes
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
  SEAL_SECRET_BYTES = 32,
  SEAL_IV_BYTES = 12,
  SEAL_HEADER_BYTES = 5,
  SEAL_CONTENT_BYTES = 1 << 14,             // of a record, at most
  SEAL_ADDED_BYTES = SEAL_HEADER_BYTES + 17,  // by a record to its content
  SEAL_RECORD_BYTES = SEAL_CONTENT_BYTES + SEAL_ADDED_BYTES,
};

/** The records after which both ends turn to the next key. AES-GCM bears 2^24.5 under one (RFC 8446, 5.5). */
#define SEAL_RECORDS_PER_KEY (1ull << 22)

/** The end that seals the records of a direction; the other one opens them. */
enum seal_end { SEAL_BY_PROGRAM, SEAL_BY_WORKER };

struct evp_cipher_ctx_st;

/** The keys of one direction, and its place in it. All zeros: none. Used by one thread at a time. */
struct seal_direction {
  struct evp_cipher_ctx_st *cipher;
  bool opens;
  uint8_t traffic[SEAL_SECRET_BYTES];  // from which key and iv come, and the next such secret
  uint8_t iv[SEAL_IV_BYTES];
  uint64_t sequence;  // of the next record under this key
  uint64_t recordsPerKey;
};

/**
 * Begins a direction of a connection, in place of what was there.
 *
 * @param opens whether this end opens the records, rather than seal them
 * @return false if there is no memory, or no cipher
 */
bool seal_begin(struct seal_direction *direction, const uint8_t secret[SEAL_SECRET_BYTES], enum seal_end end,
                bool opens);

/**
 * Seals the next bytes of some buffers, at most SEAL_CONTENT_BYTES, as one record.
 *
 * @return the record's length; 0 on an internal failure
 */
size_t seal_record(struct seal_direction *direction, const struct iovec *content, size_t bytes, uint8_t *record);

/** Returns the length of a record by its header, or 0 if there is no such record. */
size_t seal_record_bytes(const uint8_t header[SEAL_HEADER_BYTES]);

/**
 * Opens a record.
 *
 * @param content has room for the record's content and one byte more
 * @return the length of the content; 0 if this is not the record that was sealed in this place
 */
size_t seal_open(struct seal_direction *direction, const uint8_t *record, size_t bytes, uint8_t *content);
