// SPDX-License-Identifier: Apache-2.0
/** The reasons why the pool refuses a lease request or lets it wait, in words. */
@NullMarked
package io.gpupool.rejection;

import org.jspecify.annotations.NullMarked;
