// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool lease}. */
@NullMarked
package io.gpupool.cli.lease;

import org.jspecify.annotations.NullMarked;
