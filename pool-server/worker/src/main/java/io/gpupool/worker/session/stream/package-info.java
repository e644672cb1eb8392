// SPDX-License-Identifier: Apache-2.0
/** Streams, events and host functions. */
@NullMarked
package io.gpupool.worker.session.stream;

import org.jspecify.annotations.NullMarked;
