// SPDX-License-Identifier: Apache-2.0

/** Connections with the program: the ways in which bytes of a call stream travel. */
@NullMarked
package io.gpupool.worker.connection;

import org.jspecify.annotations.NullMarked;
