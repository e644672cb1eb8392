// SPDX-License-Identifier: Apache-2.0

/** The control plane of a server as its own process calls it. */
package io.gpupool.server.inprocess;
