// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool top}, {@code list} and {@code health}: a pool at a glance. */
@NullMarked
package io.gpupool.cli.pool;

import org.jspecify.annotations.NullMarked;
