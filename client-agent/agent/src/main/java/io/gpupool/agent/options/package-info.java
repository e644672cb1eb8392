// SPDX-License-Identifier: Apache-2.0
/** The options of an agent. */
@NullMarked
package io.gpupool.agent.options;

import org.jspecify.annotations.NullMarked;
