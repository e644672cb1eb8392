// SPDX-License-Identifier: Apache-2.0
/**
 * Dynamic resource allocation. The driver shows partitions of the pool's GPUs to the scheduler,
 * leases what the scheduler allocates to claims, and has the nodes' container runtimes give it to
 * containers.
 */
@NullMarked
package io.gpupool.k8s.dra;

import org.jspecify.annotations.NullMarked;
