// SPDX-License-Identifier: Apache-2.0
/** Connections to a node's kubelet. */
@NullMarked
package io.gpupool.k8s.kubelet;

import org.jspecify.annotations.NullMarked;
