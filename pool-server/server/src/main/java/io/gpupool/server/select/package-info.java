// SPDX-License-Identifier: Apache-2.0
/** Which GPUs a request will do with, as its selectors say. */
@NullMarked
package io.gpupool.server.select;

import org.jspecify.annotations.NullMarked;
