// SPDX-License-Identifier: Apache-2.0
/** A session's memory as its lease counts it. */
@NullMarked
package io.gpupool.worker.session.quota;

import org.jspecify.annotations.NullMarked;
