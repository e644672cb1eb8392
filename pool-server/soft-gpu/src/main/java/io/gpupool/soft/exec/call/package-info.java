// SPDX-License-Identifier: Apache-2.0
/** Functions that device code calls: the device runtime, memory, printf, assertions. */
@NullMarked
package io.gpupool.soft.exec.call;

import org.jspecify.annotations.NullMarked;
