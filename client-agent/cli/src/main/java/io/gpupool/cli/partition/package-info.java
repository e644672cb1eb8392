// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool partition}. */
@NullMarked
package io.gpupool.cli.partition;

import org.jspecify.annotations.NullMarked;
