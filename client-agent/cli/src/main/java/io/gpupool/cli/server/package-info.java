// SPDX-License-Identifier: Apache-2.0
/** The commands of {@code gpupool server} that ask a pool. */
package io.gpupool.cli.server;
