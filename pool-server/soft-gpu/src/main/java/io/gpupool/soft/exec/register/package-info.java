// SPDX-License-Identifier: Apache-2.0
/** Special registers of PTX; called by generated code. */
@NullMarked
package io.gpupool.soft.exec.register;

import org.jspecify.annotations.NullMarked;
