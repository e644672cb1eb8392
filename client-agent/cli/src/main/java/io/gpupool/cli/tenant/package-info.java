// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool tenant} and {@code gpupool audit}. */
@NullMarked
package io.gpupool.cli.tenant;

import org.jspecify.annotations.NullMarked;
