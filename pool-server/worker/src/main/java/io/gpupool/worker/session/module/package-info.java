// SPDX-License-Identifier: Apache-2.0
/** Modules: images, functions, variables and JIT linking. */
@NullMarked
package io.gpupool.worker.session.module;

import org.jspecify.annotations.NullMarked;
