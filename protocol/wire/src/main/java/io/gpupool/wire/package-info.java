// SPDX-License-Identifier: Apache-2.0
/** Constants and layouts of the byte protocols between shim, agent, server and worker. */
@NullMarked
package io.gpupool.wire;

import org.jspecify.annotations.NullMarked;
