// SPDX-License-Identifier: Apache-2.0
#include "seal/record.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <string.h>

enum {
  KEY_BYTES = 16,
  TAG_BYTES = 16,
  TYPE_BYTES = 1,
  TYPE_DATA = 23,
  VERSION = 3,
  MAX_LABEL_BYTES = 32,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const EVP_CIPHER *cipher;
static const EVP_MD *digest;

/** Has libcrypto read no file of configuration, and leave its end to the process's. */
static void prepare(void) {
  if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1) return;
  digest = EVP_MD_fetch(NULL, "SHA256", NULL);
  if (digest) cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
}

/** HKDF-Expand-Label of RFC 8446, 7.1, without a context; at most as many bytes as the digest has. */
static bool expand(const uint8_t secret[SEAL_SECRET_BYTES], const char *label, uint8_t *to, size_t bytes) {
  uint8_t info[2 + 1 + MAX_LABEL_BYTES + 1 + 1], out[EVP_MAX_MD_SIZE];
  size_t length = strlen(label), at = 0;
  info[at++] = 0;
  info[at++] = (uint8_t)bytes;
  info[at++] = (uint8_t)(6 + length);
  memcpy(info + at, "tls13 ", 6);
  memcpy(info + at + 6, label, length);
  at += 6 + length;
  info[at++] = 0;  // no context
  info[at++] = 1;  // first block of HKDF-Expand
  unsigned int made = 0;
  if (!HMAC(digest, secret, SEAL_SECRET_BYTES, info, at, out, &made) || made < bytes) return false;
  memcpy(to, out, bytes);
  OPENSSL_cleanse(out, sizeof out);
  return true;
}

/** Takes key and iv from the traffic secret. */
static bool turn_to_key(struct seal_direction *direction) {
  uint8_t key[KEY_BYTES];
  bool made = expand(direction->traffic, "key", key, sizeof key) &&
              expand(direction->traffic, "iv", direction->iv, sizeof direction->iv) &&
              EVP_CipherInit_ex(direction->cipher, cipher, NULL, key, NULL, !direction->opens) == 1;
  OPENSSL_cleanse(key, sizeof key);
  direction->sequence = 0;
  return made;
}

bool seal_begin(struct seal_direction *direction, const uint8_t secret[SEAL_SECRET_BYTES], enum seal_end end,
                bool opens) {
  pthread_once(&once, prepare);
  if (!cipher) return false;
  if (!direction->cipher) direction->cipher = EVP_CIPHER_CTX_new();
  if (!direction->cipher) return false;
  direction->opens = opens;
  direction->recordsPerKey = SEAL_RECORDS_PER_KEY;
  const char *label = end == SEAL_BY_PROGRAM ? "gpupool program" : "gpupool worker";
  return expand(secret, label, direction->traffic, sizeof direction->traffic) && turn_to_key(direction);
}

/** Begins the next record: the cipher has its nonce and has seen its header. */
static bool begin_record(struct seal_direction *direction, const uint8_t header[SEAL_HEADER_BYTES]) {
  if (direction->sequence == direction->recordsPerKey) {
    uint8_t next[SEAL_SECRET_BYTES];
    if (!expand(direction->traffic, "traffic upd", next, sizeof next)) return false;
    memcpy(direction->traffic, next, sizeof next);
    OPENSSL_cleanse(next, sizeof next);
    if (!turn_to_key(direction)) return false;
  }
  uint8_t nonce[SEAL_IV_BYTES];
  uint64_t sequence = __builtin_bswap64(direction->sequence++), end;
  memcpy(nonce, direction->iv, sizeof nonce);
  memcpy(&end, nonce + sizeof nonce - sizeof end, sizeof end);
  end ^= sequence;
  memcpy(nonce + sizeof nonce - sizeof end, &end, sizeof end);
  int length;
  return EVP_CipherInit_ex(direction->cipher, NULL, NULL, NULL, nonce, -1) == 1 &&
         EVP_CipherUpdate(direction->cipher, NULL, &length, header, SEAL_HEADER_BYTES) == 1;
}

size_t seal_record(struct seal_direction *direction, const struct iovec *content, size_t bytes, uint8_t *record) {
  static const uint8_t type = TYPE_DATA;
  size_t follows = bytes + TYPE_BYTES + TAG_BYTES;
  uint8_t *at = record + SEAL_HEADER_BYTES;
  int length;
  record[0] = TYPE_DATA;
  record[1] = record[2] = VERSION;
  record[3] = (uint8_t)(follows >> 8);
  record[4] = (uint8_t)follows;
  if (!begin_record(direction, record)) return 0;
  for (; bytes; content++) {
    size_t part = content->iov_len < bytes ? content->iov_len : bytes;
    if (!part) continue;
    if (EVP_CipherUpdate(direction->cipher, at, &length, content->iov_base, (int)part) != 1) return 0;
    at += length;
    bytes -= part;
  }
  if (EVP_CipherUpdate(direction->cipher, at, &length, &type, TYPE_BYTES) != 1) return 0;
  at += length;
  if (EVP_CipherFinal_ex(direction->cipher, at, &length) != 1) return 0;
  at += length;
  if (EVP_CIPHER_CTX_ctrl(direction->cipher, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, at) != 1) return 0;
  return SEAL_HEADER_BYTES + follows;
}

size_t seal_record_bytes(const uint8_t header[SEAL_HEADER_BYTES]) {
  size_t follows = (size_t)header[3] << 8 | header[4];
  bool known = header[0] == TYPE_DATA && header[1] == VERSION && header[2] == VERSION;
  bool fits = follows > TYPE_BYTES + TAG_BYTES && follows <= SEAL_CONTENT_BYTES + TYPE_BYTES + TAG_BYTES;
  return known && fits ? SEAL_HEADER_BYTES + follows : 0;
}

size_t seal_open(struct seal_direction *direction, const uint8_t *record, size_t bytes, uint8_t *content) {
  if (seal_record_bytes(record) != bytes || !begin_record(direction, record)) return 0;
  size_t encrypted = bytes - SEAL_HEADER_BYTES - TAG_BYTES;
  const uint8_t *at = record + SEAL_HEADER_BYTES;
  uint8_t tag[TAG_BYTES];
  int length, rest;
  memcpy(tag, at + encrypted, sizeof tag);
  bool whole = EVP_CipherUpdate(direction->cipher, content, &length, at, (int)encrypted) == 1 &&
               EVP_CIPHER_CTX_ctrl(direction->cipher, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag) == 1 &&
               EVP_CipherFinal_ex(direction->cipher, content + length, &rest) == 1;
  // No record is padded.
  return whole && content[encrypted - TYPE_BYTES] == TYPE_DATA ? encrypted - TYPE_BYTES : 0;
}
