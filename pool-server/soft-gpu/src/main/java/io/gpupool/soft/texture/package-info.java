// SPDX-License-Identifier: Apache-2.0
/** Arrays, textures and surfaces of the software GPU: how elements are kept, read and filtered. */
@NullMarked
package io.gpupool.soft.texture;

import org.jspecify.annotations.NullMarked;
