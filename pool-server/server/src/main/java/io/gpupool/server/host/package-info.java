// SPDX-License-Identifier: Apache-2.0

/** What the machine, or the container, has for the server and its workers. */
@NullMarked
package io.gpupool.server.host;

import org.jspecify.annotations.NullMarked;
