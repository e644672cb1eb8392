// SPDX-License-Identifier: Apache-2.0
/** Driver calls about arrays, textures, surfaces and tensor maps. */
@NullMarked
package io.gpupool.worker.soft.texture;

import org.jspecify.annotations.NullMarked;
