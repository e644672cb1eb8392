// SPDX-License-Identifier: Apache-2.0
/** Rejections of requests, with their reasons. */
@NullMarked
package io.gpupool.server.rejection;

import org.jspecify.annotations.NullMarked;
