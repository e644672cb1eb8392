// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import org.jspecify.annotations.Nullable;

/**
 * The image that a module was loaded from, for as long as the module lives.
 *
 * @param held the image itself; null if the store has it
 * @param digest by which the store has it; null if it does not
 */
@SuppressWarnings("ArrayRecordComponent")
public record ModuleImage(
    long lengthBytes, Images.@Nullable Image held, byte @Nullable [] digest) {}
