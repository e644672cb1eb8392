// SPDX-License-Identifier: Apache-2.0
/** Arrays, textures, surfaces and tensor maps. */
@NullMarked
package io.gpupool.worker.session.texture;

import org.jspecify.annotations.NullMarked;
