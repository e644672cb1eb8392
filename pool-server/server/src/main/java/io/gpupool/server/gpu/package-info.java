// SPDX-License-Identifier: Apache-2.0
/** GPUs of a server: how they are named on the command line, found, and cut into shares. */
@NullMarked
package io.gpupool.server.gpu;

import org.jspecify.annotations.NullMarked;
