// SPDX-License-Identifier: Apache-2.0
/** Arrays, textures, surfaces and tensor maps. */
package io.gpupool.worker.session.texture;
