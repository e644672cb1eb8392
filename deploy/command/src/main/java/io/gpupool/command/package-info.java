// SPDX-License-Identifier: Apache-2.0
/** The {@code gpupool} command, put together from those of clients and servers. */
@NullMarked
package io.gpupool.command;

import org.jspecify.annotations.NullMarked;
