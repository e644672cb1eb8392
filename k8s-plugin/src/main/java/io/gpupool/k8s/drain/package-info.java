// SPDX-License-Identifier: Apache-2.0
/** Takes the pool's servers out of service whose nodes are about to go. */
package io.gpupool.k8s.drain;
