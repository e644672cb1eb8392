// SPDX-License-Identifier: Apache-2.0
/** The sandbox around worker processes: its layers, and the start of a worker inside it. */
@NullMarked
package io.gpupool.server.sandbox;

import org.jspecify.annotations.NullMarked;
