// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

/** A proof that its bearer may use a lease. */
public sealed interface LeaseCredential {
  /** Knowledge of the lease's secret. */
  record BySecret(String lease, String secret) implements LeaseCredential {}

  /**
   * Being the pod that the lease is for.
   *
   * @param container empty: the pod has one lease for all its containers
   */
  record ByPod(String uid, String container) implements LeaseCredential {}
}
