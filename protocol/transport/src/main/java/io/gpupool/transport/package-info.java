// SPDX-License-Identifier: Apache-2.0
/** Sockets of the agent and of servers: event loops, unix sockets, descriptors, relays. */
@NullMarked
package io.gpupool.transport;

import org.jspecify.annotations.NullMarked;
