// SPDX-License-Identifier: Apache-2.0
/** Views of the pool as messages, each with what its caller may see. */
@NullMarked
package io.gpupool.server.view;

import org.jspecify.annotations.NullMarked;
