// SPDX-License-Identifier: Apache-2.0
/** The pods and containers that the node's processes belong to. */
package io.gpupool.k8s.identity;
