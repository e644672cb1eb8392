// SPDX-License-Identifier: Apache-2.0
/** A PTX module in memory: functions, variables, statements and types. */
@NullMarked
package io.gpupool.soft.ptx;

import org.jspecify.annotations.NullMarked;
