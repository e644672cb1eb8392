// SPDX-License-Identifier: Apache-2.0
/**
 * The kubelet's device plugin protocol (v1beta1). The plugin advertises a device for each hundredth
 * of a GPU of the pool, and tells the kubelet what a container with devices gets. The devices only
 * count: what a pod really has is the lease that the pool has granted.
 */
@NullMarked
package io.gpupool.k8s.deviceplugin;

import org.jspecify.annotations.NullMarked;
