// SPDX-License-Identifier: Apache-2.0
/** Memory by address and system calls, through java.lang.foreign; Linux only. */
@NullMarked
package io.gpupool.worker.os;

import org.jspecify.annotations.NullMarked;
