// SPDX-License-Identifier: Apache-2.0
/** The devices of a process: their memory, their pools and their attributes. */
@NullMarked
package io.gpupool.soft.device;

import org.jspecify.annotations.NullMarked;
