// SPDX-License-Identifier: Apache-2.0
/** Modules, their functions, and launches of them. */
@NullMarked
package io.gpupool.soft.device.module;

import org.jspecify.annotations.NullMarked;
