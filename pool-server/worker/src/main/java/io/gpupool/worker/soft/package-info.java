// SPDX-License-Identifier: Apache-2.0
/** The backend that runs driver calls on the software GPU. */
@NullMarked
package io.gpupool.worker.soft;

import org.jspecify.annotations.NullMarked;
