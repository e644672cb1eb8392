// SPDX-License-Identifier: Apache-2.0

/** What the machine, or the container, has for the server and its workers. */
package io.gpupool.server.host;
