// SPDX-License-Identifier: Apache-2.0

/** Files that only a server's own user reads and writes. */
@NullMarked
package io.gpupool.server.files;

import org.jspecify.annotations.NullMarked;
