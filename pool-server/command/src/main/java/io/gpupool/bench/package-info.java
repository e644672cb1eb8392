// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool bench}: measurements of pools. */
@NullMarked
package io.gpupool.bench;

import org.jspecify.annotations.NullMarked;
