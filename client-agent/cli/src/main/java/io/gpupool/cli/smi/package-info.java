// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool smi}, in the form of NVIDIA's tool. */
@NullMarked
package io.gpupool.cli.smi;

import org.jspecify.annotations.NullMarked;
