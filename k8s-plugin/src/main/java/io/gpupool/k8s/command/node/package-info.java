// SPDX-License-Identifier: Apache-2.0
/** The process of a node: the agent for the programs of its pods, the device plugin, the claims. */
@NullMarked
package io.gpupool.k8s.command.node;

import org.jspecify.annotations.NullMarked;
