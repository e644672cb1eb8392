// SPDX-License-Identifier: Apache-2.0
/** What sessions leave for later ones of their tenant: compiled kernels and images. */
@NullMarked
package io.gpupool.server.cache;

import org.jspecify.annotations.NullMarked;
