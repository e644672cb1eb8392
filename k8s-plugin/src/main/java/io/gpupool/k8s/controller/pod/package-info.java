// SPDX-License-Identifier: Apache-2.0
/**
 * Pods as the API server has them: the watched facts, the states that they are given, the calls.
 */
package io.gpupool.k8s.controller.pod;
