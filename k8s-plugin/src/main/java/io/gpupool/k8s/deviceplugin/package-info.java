// SPDX-License-Identifier: Apache-2.0
/**
 * The kubelet's device plugin protocol (v1beta1): shows a node a seat for each hundredth of a GPU
 * of the pool, and tells what a container gets that was given some. A seat is not the truth: that
 * is the lease which the pool has granted.
 */
package io.gpupool.k8s.deviceplugin;
