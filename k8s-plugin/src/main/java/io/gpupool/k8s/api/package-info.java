// SPDX-License-Identifier: Apache-2.0
/** The shared parts of all clients of the API server. */
@NullMarked
package io.gpupool.k8s.api;

import org.jspecify.annotations.NullMarked;
