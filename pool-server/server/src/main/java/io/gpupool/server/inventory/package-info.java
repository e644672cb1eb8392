// SPDX-License-Identifier: Apache-2.0
/** The inventory of this machine's GPUs. */
@NullMarked
package io.gpupool.server.inventory;

import org.jspecify.annotations.NullMarked;
