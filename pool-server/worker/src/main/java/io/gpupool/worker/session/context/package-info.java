// SPDX-License-Identifier: Apache-2.0
/** Contexts, green contexts and access between GPUs. */
package io.gpupool.worker.session.context;
