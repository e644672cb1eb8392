// SPDX-License-Identifier: Apache-2.0

/**
 * What a pool-server says over HTTP: its REST interface as {@code openapi.json} has it, changes of
 * the pool, health.
 */
@NullMarked
package io.gpupool.rest;

import org.jspecify.annotations.NullMarked;
