// SPDX-License-Identifier: Apache-2.0
/** What sessions leave for later ones of their tenant: compiled kernels and images. */
package io.gpupool.server.cache;
