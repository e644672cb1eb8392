// SPDX-License-Identifier: Apache-2.0
/** The place of the Kubernetes device plugin and webhook, of which nothing is written yet. */
package io.gpupool.k8s;
