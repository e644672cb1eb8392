// SPDX-License-Identifier: Apache-2.0
/** Files of sessions that are suspended. */
@NullMarked
package io.gpupool.server.image;

import org.jspecify.annotations.NullMarked;
