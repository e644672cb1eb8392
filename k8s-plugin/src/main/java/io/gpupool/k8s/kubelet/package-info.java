// SPDX-License-Identifier: Apache-2.0
/** Connections to a node's kubelet. */
package io.gpupool.k8s.kubelet;
