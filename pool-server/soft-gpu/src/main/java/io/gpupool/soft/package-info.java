// SPDX-License-Identifier: Apache-2.0
/** A GPU in software: result codes that all its parts use. */
@NullMarked
package io.gpupool.soft;

import org.jspecify.annotations.NullMarked;
