// SPDX-License-Identifier: Apache-2.0
/** Classes and methods of a kernel: how its graph becomes JVM code. */
@NullMarked
package io.gpupool.soft.compile.method;

import org.jspecify.annotations.NullMarked;
