// SPDX-License-Identifier: Apache-2.0
/** How the kubelet of a node is reached. */
package io.gpupool.k8s.kubelet;
