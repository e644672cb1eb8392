// SPDX-License-Identifier: Apache-2.0
// Copies of page-locked memory that the worker has mapped: they name its place, and the GPU moves the bytes.
#pragma once

#include "stream/route.h"

/**
 * Copies to the device, if the worker has mapped the source, and this is not slower than to send its bytes.
 *
 * @param wait until the source may be changed
 * @return whether it did, with this result
 */
bool shared_copy_to_device(const struct route *route, CUdeviceptr destination, const void *source, uint64_t bytes,
                           bool wait, CUresult *result);

/**
 * Copies to the host, if the worker has mapped the destination.
 *
 * @param wait until the bytes are there
 * @return whether it did, with this result
 */
bool shared_copy_to_host(const struct route *route, void *destination, CUdeviceptr source, uint64_t bytes, bool wait,
                         CUresult *result);
