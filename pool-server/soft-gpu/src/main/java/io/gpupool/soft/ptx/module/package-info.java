// SPDX-License-Identifier: Apache-2.0
/** Parsed and linked PTX modules. */
@NullMarked
package io.gpupool.soft.ptx.module;

import org.jspecify.annotations.NullMarked;
