// SPDX-License-Identifier: Apache-2.0
/** Connections between the workers of one session on several servers. */
package io.gpupool.worker.peer;
