// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool run}: a program on a lease, from its request to its end. */
@NullMarked
package io.gpupool.cli.run;

import org.jspecify.annotations.NullMarked;
