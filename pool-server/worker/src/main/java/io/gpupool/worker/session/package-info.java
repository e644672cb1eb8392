// SPDX-License-Identifier: Apache-2.0
/** One session: the call stream of one program, executed on a backend. */
@NullMarked
package io.gpupool.worker.session;

import org.jspecify.annotations.NullMarked;
