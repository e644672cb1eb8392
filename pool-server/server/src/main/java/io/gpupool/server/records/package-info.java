// SPDX-License-Identifier: Apache-2.0
/** The records of a pool, and the form in which they are stored. */
@NullMarked
package io.gpupool.server.records;

import org.jspecify.annotations.NullMarked;
