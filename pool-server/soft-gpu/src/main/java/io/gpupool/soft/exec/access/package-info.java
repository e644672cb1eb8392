// SPDX-License-Identifier: Apache-2.0
/** Checked accesses of device code to its memory spaces; called by generated code. */
@NullMarked
package io.gpupool.soft.exec.access;

import org.jspecify.annotations.NullMarked;
