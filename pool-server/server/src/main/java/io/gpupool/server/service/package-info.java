// SPDX-License-Identifier: Apache-2.0
/** What agents and admins call over gRPC, and what the pool shows of itself. */
package io.gpupool.server.service;
