// SPDX-License-Identifier: Apache-2.0
/** What is counted here, and its text for Prometheus. */
package io.gpupool.k8s.metrics;
