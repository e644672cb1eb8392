// SPDX-License-Identifier: Apache-2.0
/** The parts that all rooms of a session share: answers, handle tables and contexts. */
@NullMarked
package io.gpupool.worker.session.core;

import org.jspecify.annotations.NullMarked;
