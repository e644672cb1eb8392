// SPDX-License-Identifier: Apache-2.0
/** The table of instruction forms, and the page that lists them. */
@NullMarked
package io.gpupool.soft.ptx.instruction;

import org.jspecify.annotations.NullMarked;
