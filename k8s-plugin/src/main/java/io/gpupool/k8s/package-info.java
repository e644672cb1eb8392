// SPDX-License-Identifier: Apache-2.0
/** The parts of the pool that run in a Kubernetes cluster, a package for each. */
@NullMarked
package io.gpupool.k8s;

import org.jspecify.annotations.NullMarked;
