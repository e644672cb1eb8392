// SPDX-License-Identifier: Apache-2.0
/** Resources of the pool, and the handlers that read, watch and change them. */
package io.gpupool.rest.resource;
