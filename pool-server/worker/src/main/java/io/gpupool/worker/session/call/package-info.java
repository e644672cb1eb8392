// SPDX-License-Identifier: Apache-2.0
/** The call being executed, and the calls that wait for their answers. */
@NullMarked
package io.gpupool.worker.session.call;

import org.jspecify.annotations.NullMarked;
