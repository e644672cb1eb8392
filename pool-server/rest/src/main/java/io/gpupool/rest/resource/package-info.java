// SPDX-License-Identifier: Apache-2.0
/** Resources of the pool, and the handlers that read, watch and change them. */
@NullMarked
package io.gpupool.rest.resource;

import org.jspecify.annotations.NullMarked;
