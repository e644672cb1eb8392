// SPDX-License-Identifier: Apache-2.0
/** The session that a worker is given. */
package io.gpupool.worker.assignment;
