// SPDX-License-Identifier: Apache-2.0
/** Contexts, green contexts and access between GPUs. */
@NullMarked
package io.gpupool.worker.session.context;

import org.jspecify.annotations.NullMarked;
