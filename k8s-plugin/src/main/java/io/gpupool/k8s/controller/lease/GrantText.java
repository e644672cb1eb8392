// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.Lease;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.GpuRequest.Size;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.stream.Collectors;

/** The description of a lease, such as {@code lease L12: 50 % of GPU 0 of server-0}. */
final class GrantText {
  private static final long MEBIBYTE = 1L << 20;

  private GrantText() {}

  static String of(Lease lease, GpuRequest request) {
    return "lease "
        + lease.getId()
        + ": "
        + lease.getGrantsList().stream()
            .map(grant -> of(grant, request.size()))
            .collect(Collectors.joining(", "));
  }

  private static String of(Grant grant, Size size) {
    return part(size) + "GPU " + grant.getGpu() + " of " + grant.getServer();
  }

  private static String part(Size size) {
    return switch (size) {
      case Size.Fraction(BigDecimal part) ->
          part.compareTo(BigDecimal.ONE) == 0
              ? ""
              : part.movePointRight(2).stripTrailingZeros().toPlainString() + " % of ";
      case Size.Memory(long bytes) ->
          BigDecimal.valueOf(bytes)
                  .divide(BigDecimal.valueOf(MEBIBYTE), 0, RoundingMode.HALF_UP)
                  .toPlainString()
              + " MiB of ";
    };
  }
}
