// SPDX-License-Identifier: Apache-2.0
/** gpupool in a real Kubernetes cluster, which the tests start for themselves. */
package io.gpupool.e2e.kubernetes;
