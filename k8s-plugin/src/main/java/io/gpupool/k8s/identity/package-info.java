// SPDX-License-Identifier: Apache-2.0
/** The pods and containers that the node's processes belong to. */
@NullMarked
package io.gpupool.k8s.identity;

import org.jspecify.annotations.NullMarked;
