// SPDX-License-Identifier: Apache-2.0
/** The gRPC services for agents and admins, and the views of the pool. */
package io.gpupool.server.service;
