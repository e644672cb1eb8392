// SPDX-License-Identifier: Apache-2.0
/** The queue of lease requests and its scheduler. */
package io.gpupool.server.lease.queue;
