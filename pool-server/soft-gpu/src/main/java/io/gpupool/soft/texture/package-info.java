// SPDX-License-Identifier: Apache-2.0
/** Arrays, textures and surfaces of the software GPU: how elements are kept, read and filtered. */
package io.gpupool.soft.texture;
