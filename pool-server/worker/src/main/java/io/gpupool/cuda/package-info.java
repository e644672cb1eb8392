// SPDX-License-Identifier: Apache-2.0
/** The CUDA driver API: its backends' interface, NVIDIA's library, and the decoding of calls. */
@NullMarked
package io.gpupool.cuda;

import org.jspecify.annotations.NullMarked;
