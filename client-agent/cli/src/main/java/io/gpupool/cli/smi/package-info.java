// SPDX-License-Identifier: Apache-2.0
/** {@code gpupool smi}, in the form of NVIDIA's tool. */
package io.gpupool.cli.smi;
