// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool agent} and {@code gpupool container}. */
@NullMarked
package io.gpupool.cli.agent;

import org.jspecify.annotations.NullMarked;
