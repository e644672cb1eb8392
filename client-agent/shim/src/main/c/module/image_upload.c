// SPDX-License-Identifier: Apache-2.0
// Sends images: those that a server keeps from earlier are named by their digest, and stay here.
#include "context/context.h"
#include "core/trace.h"
#include "module/image.h"
#include "module/sha256.h"
#include "ops.h"
#include "transport/loan.h"

#include <stdatomic.h>
#include <string.h>

/** Shorter images are sent at once: a question would take as long. */
enum { ASK_BYTES = 16 << 10 };

/** The stretches of which an image is made, one after the other; NULL after the last. */
static const struct piece *next_piece(const struct image *image, uint32_t index, struct piece *piece) {
  if (image->choice.pieceCount) {
    return index < image->choice.pieceCount ? &image->choice.pieces[index] : NULL;
  }
  if (index > image->moreCount) return NULL;
  *piece = index == 0 ? (struct piece){image->first, image->firstBytes}
                      : (struct piece){image->more[index - 1], fatbin_bytes(image->more[index - 1])};
  return piece;
}

/** The image's digest; false if it is not worth it, or not all of it is memory. */
static bool image_digest(const struct image *image, uint8_t result[SHA256_BYTES]) {
  struct sha256 digest;
  struct piece space;
  const struct piece *piece;
  if (image->totalBytes < ASK_BYTES) return false;
  sha256_begin(&digest);
  for (uint32_t i = 0; (piece = next_piece(image, i, &space)); i++) {
    if (!image_mapped(piece)) return false;
    sha256_add(&digest, piece->at, piece->bytes);
  }
  sha256_end(&digest, result);
  return true;
}

static CUresult send_piece(uint16_t to, uint32_t number, const struct piece *piece) {
  const uint8_t *at = piece->at;
  CUresult result = CUDA_SUCCESS;
  struct loan loan;
  loan_begin(&loan, connection_of(to));
  for (uint64_t sent = 0; sent < piece->bytes && !result;) {
    uint64_t left = piece->bytes - sent;
    uint64_t part = left < MAX_DATA_BYTES ? left : MAX_DATA_BYTES;
    result = op_imageData(to, number, at + sent, part);
    sent += part;
  }
  loan_end(&loan, LOAN_RETURNED);
  return result;
}

static CUresult send_pieces(uint16_t to, const struct image *image, uint32_t number) {
  struct piece space;
  const struct piece *piece;
  CUresult result = op_imageBegin(to, number, image->totalBytes);
  for (uint32_t i = 0; !result && (piece = next_piece(image, i, &space)); i++) {
    result = send_piece(to, number, piece);
  }
  return result;
}

/** Sends an image to one connection, unless it is there by this digest, if it has one. */
static CUresult send_to(uint16_t to, const struct image *image, const uint8_t *digest, uint32_t number) {
  uint32_t found = 0;
  if (digest && !op_imageFind(to, number, digest, SHA256_BYTES, image->totalBytes, &found) && found) {
    return CUDA_SUCCESS;
  }
  return send_pieces(to, image, number);
}

/** Returns whether an image that goes where a context is goes to a connection. */
static bool is_for(const struct context *context, uint32_t connection) {
  return !context || connection_same(context->number, connection_no_context(connection));
}

static uint32_t new_number(void) {
  static _Atomic uint32_t lastNumber;
  return atomic_fetch_add_explicit(&lastNumber, 1, memory_order_relaxed) + 1;
}

static CUresult send(const struct image *image, const struct context *context, const uint8_t *digest, uint32_t number) {
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < connectionCount && !result; i++) {
    if (is_for(context, i)) result = send_to(connection_no_context(i), image, digest, number);
  }
  return result;
}

CUresult image_send(const struct image *image, const struct context *context, uint32_t *number) {
  uint8_t digest[SHA256_BYTES];
  *number = new_number();
  return send(image, context, image_digest(image, digest) ? digest : NULL, *number);
}

/** Asks as op_imageFind does, but waits for nothing. */
static CUresult ask(uint16_t to, const uint8_t *digest, uint64_t imageBytes, struct image_offer *offer) {
  enum { SLOTS = 6 };
  struct connection *connection = connection_of(to);
  offer->call = (struct call){.reply = &offer->found, .replyCapacity = sizeof offer->found};
  call_open(connection, &offer->call);
  uint64_t *slot = ring_begin(connection, SLOTS * 8 + SHA256_BYTES);
  if (!slot) return call_cancel(&offer->call);
  slot[0] = FRAME(SLOTS * 8 + SHA256_BYTES, OP_imageFind, to);
  slot[1] = offer->call.tag;
  slot[2] = offer->number;
  slot[3] = SHA256_BYTES;
  slot[4] = imageBytes;
  slot[5] = true;
  memcpy(slot + SLOTS, digest, SHA256_BYTES);
  CUresult result = ring_post(connection);
  offer->open = true;
  return result;
}

CUresult image_offer(const struct image *image, const struct context *context, struct image_offer *offer) {
  uint8_t digest[SHA256_BYTES];
  *offer = (struct image_offer){.number = new_number()};
  const uint8_t *known = image_digest(image, digest) ? digest : NULL;
  if (!known || connectionCount != 1) return send(image, context, known, offer->number);
  return ask(connection_no_context(0), digest, image->totalBytes, offer);
}

bool image_missing(struct image_offer *offer) {
  if (!offer->open) return false;
  offer->open = false;
  uint64_t trips = roundTrips;
  call_await(&offer->call);
  // The call behind it has waited for both.
  roundTrips = trips;
  return offer->call.result || !(uint32_t)offer->found;
}

CUresult image_deliver(const struct image *image, const struct context *context, const struct image_offer *offer) {
  return send(image, context, NULL, offer->number);
}

void image_drop(uint32_t number, const struct context *context) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    if (is_for(context, i)) op_imageDrop(connection_no_context(i), number);
  }
}
