// SPDX-License-Identifier: Apache-2.0
/** The files and variables by which the programs of a container find a pool. */
@NullMarked
package io.gpupool.container;

import org.jspecify.annotations.NullMarked;
