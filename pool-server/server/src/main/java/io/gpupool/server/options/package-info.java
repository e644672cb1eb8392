// SPDX-License-Identifier: Apache-2.0
/** The options of a server. */
@NullMarked
package io.gpupool.server.options;

import org.jspecify.annotations.NullMarked;
