// SPDX-License-Identifier: Apache-2.0
/** Works of devices in the order of their dependencies. */
@NullMarked
package io.gpupool.soft.device.work;

import org.jspecify.annotations.NullMarked;
