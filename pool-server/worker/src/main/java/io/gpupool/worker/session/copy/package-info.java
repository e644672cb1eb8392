// SPDX-License-Identifier: Apache-2.0
/** Copies between the program, the device and its mirrors. */
@NullMarked
package io.gpupool.worker.session.copy;

import org.jspecify.annotations.NullMarked;
