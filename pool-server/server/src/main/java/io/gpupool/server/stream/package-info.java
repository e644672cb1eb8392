// SPDX-License-Identifier: Apache-2.0
/** The port of the call streams. */
@NullMarked
package io.gpupool.server.stream;

import org.jspecify.annotations.NullMarked;
