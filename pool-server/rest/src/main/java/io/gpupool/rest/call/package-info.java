// SPDX-License-Identifier: Apache-2.0
/** Checked requests, and the control plane that answers them. */
@NullMarked
package io.gpupool.rest.call;

import org.jspecify.annotations.NullMarked;
