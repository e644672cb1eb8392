// SPDX-License-Identifier: Apache-2.0
/** The parts that all commands of clients share. */
@NullMarked
package io.gpupool.cli;

import org.jspecify.annotations.NullMarked;
