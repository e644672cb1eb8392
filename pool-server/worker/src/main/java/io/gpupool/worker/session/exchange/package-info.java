// SPDX-License-Identifier: Apache-2.0
/** The exchange of memory and events with the lease's other sessions. */
@NullMarked
package io.gpupool.worker.session.exchange;

import org.jspecify.annotations.NullMarked;
