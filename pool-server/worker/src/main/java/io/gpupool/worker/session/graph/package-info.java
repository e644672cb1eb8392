// SPDX-License-Identifier: Apache-2.0
/** Kernel launches and graphs. */
package io.gpupool.worker.session.graph;
