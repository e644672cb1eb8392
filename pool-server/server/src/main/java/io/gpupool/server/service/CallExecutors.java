// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.MethodDescriptor;
import java.util.Set;
import java.util.concurrent.Executor;

/**
 * Executors of the methods of the control plane. Those that read, or report that a holder is there,
 * need not wait for a pending commit.
 *
 * @param readOnly runs tasks on the same thread as {@code control}, even while that waits
 */
public record CallExecutors(Executor control, Executor readOnly) {
  private static final Set<MethodDescriptor<?, ?>> READ_ONLY_METHODS =
      Set.of(
          PoolGrpc.getVersionMethod(),
          PoolGrpc.getListServersMethod(),
          PoolGrpc.getListGpusMethod(),
          PoolGrpc.getListLeasesMethod(),
          PoolGrpc.getListQueueMethod(),
          PoolGrpc.getListSessionsMethod(),
          PoolGrpc.getHoldLeaseMethod(),
          PoolAdminGrpc.getListPartitionsMethod(),
          PoolAdminGrpc.getListTenantsMethod(),
          PoolAdminGrpc.getListTokensMethod(),
          PoolAdminGrpc.getListAuditMethod());

  public Executor of(MethodDescriptor<?, ?> method) {
    return READ_ONLY_METHODS.contains(method) ? readOnly : control;
  }
}
