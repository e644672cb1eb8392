// SPDX-License-Identifier: Apache-2.0
/** Driver calls about modules, functions and launches. */
@NullMarked
package io.gpupool.worker.soft.module;

import org.jspecify.annotations.NullMarked;
