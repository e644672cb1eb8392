// SPDX-License-Identifier: Apache-2.0
/** The commands of {@code gpupool server} that ask a pool. */
@NullMarked
package io.gpupool.cli.server;

import org.jspecify.annotations.NullMarked;
