// SPDX-License-Identifier: Apache-2.0
/** Modules: images, functions, variables and JIT linking. */
package io.gpupool.worker.session.module;
