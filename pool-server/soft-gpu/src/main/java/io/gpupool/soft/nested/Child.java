// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.Launch;

/**
 * A checked launch, the parameters aside.
 *
 * @param paramBytes length of its parameter block
 */
public record Child(CompiledKernel kernel, Launch launch, int paramBytes) {}
