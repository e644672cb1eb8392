// SPDX-License-Identifier: Apache-2.0
/** The gRPC services for agents and admins. */
package io.gpupool.server.service;
