// SPDX-License-Identifier: Apache-2.0
/** The {@code gpupool} command, put together from those of clients and servers. */
package io.gpupool.command;
