// SPDX-License-Identifier: Apache-2.0
/**
 * The controller that reserves the leases of pods at the pool, holds them while the pods live, and
 * ends them.
 */
@NullMarked
package io.gpupool.k8s.controller;

import org.jspecify.annotations.NullMarked;
