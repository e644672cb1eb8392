// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/** Place of one kernel parameter in the parameter block. */
public record ParamInfo(int offsetBytes, int sizeBytes, int alignBytes) {}
