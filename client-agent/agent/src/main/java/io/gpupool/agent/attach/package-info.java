// SPDX-License-Identifier: Apache-2.0
/** The connections of programs, from their attach message to the end of their call streams. */
@NullMarked
package io.gpupool.agent.attach;

import org.jspecify.annotations.NullMarked;
