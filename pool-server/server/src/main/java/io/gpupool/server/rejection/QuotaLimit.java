// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

/** The limit of a quota that a request exceeds. */
public sealed interface QuotaLimit {
  record Leases(int most) implements QuotaLimit {}

  record Memory(long mostBytes) implements QuotaLimit {}

  record Gpus(double most) implements QuotaLimit {}
}
