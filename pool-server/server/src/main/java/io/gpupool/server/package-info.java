// SPDX-License-Identifier: Apache-2.0
/** The parts of a pool server, put together. */
@NullMarked
package io.gpupool.server;

import org.jspecify.annotations.NullMarked;
