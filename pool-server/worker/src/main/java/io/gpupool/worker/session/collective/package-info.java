// SPDX-License-Identifier: Apache-2.0
/** The communicators of NCCL that a session has ranks of. */
@NullMarked
package io.gpupool.worker.session.collective;

import org.jspecify.annotations.NullMarked;
