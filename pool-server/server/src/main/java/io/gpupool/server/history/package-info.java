// SPDX-License-Identifier: Apache-2.0
/** What the time and memory of this server's GPUs went to in the last hour and day. */
package io.gpupool.server.history;
