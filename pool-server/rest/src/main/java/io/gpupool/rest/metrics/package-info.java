// SPDX-License-Identifier: Apache-2.0
/** Meters of the pool, for scrapes and for reporters. */
@NullMarked
package io.gpupool.rest.metrics;

import org.jspecify.annotations.NullMarked;
