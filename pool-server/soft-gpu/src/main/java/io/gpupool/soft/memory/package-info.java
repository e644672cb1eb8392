// SPDX-License-Identifier: Apache-2.0
/** Memory of devices: address ranges, allocations, mappings and shared pages. */
@NullMarked
package io.gpupool.soft.memory;

import org.jspecify.annotations.NullMarked;
