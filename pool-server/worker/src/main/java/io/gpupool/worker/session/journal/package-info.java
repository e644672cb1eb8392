// SPDX-License-Identifier: Apache-2.0
/** The calls that made what a session has, by which it can be made again. */
@NullMarked
package io.gpupool.worker.session.journal;

import org.jspecify.annotations.NullMarked;
