// SPDX-License-Identifier: Apache-2.0
/**
 * Pods as the API server has them: the watched facts, the states that they are given, the calls.
 */
@NullMarked
package io.gpupool.k8s.controller.pod;

import org.jspecify.annotations.NullMarked;
