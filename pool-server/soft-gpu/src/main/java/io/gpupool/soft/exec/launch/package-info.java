// SPDX-License-Identifier: Apache-2.0
/** Launches as the engine takes them: their shape, their services and their faults. */
@NullMarked
package io.gpupool.soft.exec.launch;

import org.jspecify.annotations.NullMarked;
