// SPDX-License-Identifier: Apache-2.0
/** The agent of a machine or Kubernetes node: the unix socket on which shims find it. */
@NullMarked
package io.gpupool.agent;

import org.jspecify.annotations.NullMarked;
