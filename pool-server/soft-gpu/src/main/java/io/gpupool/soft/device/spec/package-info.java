// SPDX-License-Identifier: Apache-2.0
/** Limits of devices, and the shapes that programs ask for. */
@NullMarked
package io.gpupool.soft.device.spec;

import org.jspecify.annotations.NullMarked;
