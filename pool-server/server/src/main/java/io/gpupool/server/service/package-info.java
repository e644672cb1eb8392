// SPDX-License-Identifier: Apache-2.0
/** The gRPC services for agents and admins. */
@NullMarked
package io.gpupool.server.service;

import org.jspecify.annotations.NullMarked;
