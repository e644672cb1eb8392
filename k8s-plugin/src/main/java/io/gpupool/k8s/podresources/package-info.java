// SPDX-License-Identifier: Apache-2.0
/** Which container has which devices, as the kubelet tells. */
package io.gpupool.k8s.podresources;
