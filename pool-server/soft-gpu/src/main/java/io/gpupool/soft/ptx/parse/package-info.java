// SPDX-License-Identifier: Apache-2.0
/** The parser of PTX text. */
@NullMarked
package io.gpupool.soft.ptx.parse;

import org.jspecify.annotations.NullMarked;
