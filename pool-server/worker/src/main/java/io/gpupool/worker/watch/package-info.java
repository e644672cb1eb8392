// SPDX-License-Identifier: Apache-2.0
/** The process that watches over the GPUs of a server. */
@NullMarked
package io.gpupool.worker.watch;

import org.jspecify.annotations.NullMarked;
