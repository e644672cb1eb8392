// SPDX-License-Identifier: Apache-2.0
/** Which pod and which of its containers a process of the node belongs to. */
package io.gpupool.k8s.identity;
