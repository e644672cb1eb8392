// SPDX-License-Identifier: Apache-2.0
// Copies between host and device. Streams are given by their numbers.
#pragma once

#include "context/context.h"
#include "transport/loan.h"

enum memory_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_PAGEABLE };

/** Returns the kind of memory at an address; an address that is both is device memory. */
enum memory_kind memory_kind_of(uint64_t address);

/** Sends bytes to the device. A source that is returned may be changed as soon as this returns. */
CUresult copy_to_device(struct context *context, uint32_t stream, uint64_t destination,
                        const void *source, uint64_t bytes, enum loan_end end);

/** Fetches bytes and waits for them. */
CUresult copy_from_device(struct context *context, uint32_t stream, void *destination,
                          uint64_t source, uint64_t bytes);

/** Has bytes fetched; they are there when a later fence says that the stream has come to here. */
CUresult copy_from_device_posted(struct context *context, uint32_t stream, void *destination,
                                 uint64_t source, uint64_t bytes);

CUresult copy_on_device(struct context *context, uint32_t stream, uint64_t destination,
                        uint64_t source, uint64_t bytes);

/** Called before host memory is read at once for a stream that may have work under way that writes it. */
CUresult copy_settle_source(struct context *context, uint32_t stream, const void *source,
                            uint64_t bytes);

/** Returns whether the host sees device memory once a wait has ended: then synchronous copies wait. */
bool copy_is_seen(CUdeviceptr destination);

/** Resolves a stream for the current context, for work that reads or writes device memory. */
CUresult copy_begin(CUstream handle, struct context **context, uint32_t *stream);

/** Called after a synchronous copy to the device: makes all later work, on any connection, come after it. */
CUresult copy_to_device_done(struct context *context, uint32_t stream, bool unknown);
