// SPDX-License-Identifier: Apache-2.0
/** Driver calls about memory and copies. */
@NullMarked
package io.gpupool.worker.soft.memory;

import org.jspecify.annotations.NullMarked;
