// SPDX-License-Identifier: Apache-2.0

/** The control plane of a server as its own process calls it. */
@NullMarked
package io.gpupool.server.inprocess;

import org.jspecify.annotations.NullMarked;
