// SPDX-License-Identifier: Apache-2.0
/** The OpenAPI document and its schemas, by which requests are checked. */
@NullMarked
package io.gpupool.rest.openapi;

import org.jspecify.annotations.NullMarked;
