// SPDX-License-Identifier: Apache-2.0
/** Fences and copies between a program's sessions on several servers. */
@NullMarked
package io.gpupool.worker.session.peer;

import org.jspecify.annotations.NullMarked;
