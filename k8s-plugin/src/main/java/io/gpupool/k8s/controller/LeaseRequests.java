// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.k8s.request.GpuRequest.Size;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Makes requests for leases. A pod's container has the same request whoever makes it. */
final class LeaseRequests {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int MIN_KEY_BYTES = 16;
  private static final int ID_BYTES = 16;
  private static final long WAIT_MILLIS = 30L * 24 * 3600 * 1000;

  private final SecretKeySpec key;
  private final ControllerOptions options;

  LeaseRequests(byte[] key, ControllerOptions options) {
    if (key.length < MIN_KEY_BYTES) {
      throw new IllegalArgumentException(
          "the key of the leases has " + key.length + " bytes; at least " + MIN_KEY_BYTES);
    }
    this.key = new SecretKeySpec(key, ALGORITHM);
    this.options = options;
  }

  LeaseRequest of(PodKey pod, PodRequest asked, Wanted wanted, String tenant) {
    LeaseRequest.Builder request =
        LeaseRequest.newBuilder()
            .setGpus(wanted.request().gpus())
            .putAllSelectors(asked.select())
            .setTenant(tenant)
            .setPriority(asked.priority())
            .setWaitMillis(WAIT_MILLIS)
            .setHolder(
                Holder.newBuilder()
                    .setHost(pod.toString())
                    .setProgram(wanted.container())
                    .setUser(options.holder()))
            .setRequestId(id(pod, wanted.container()))
            // Nobody can know that it was not made before, by a controller that is gone.
            .setResumed(true)
            .setGraceMillis(options.grace().toMillis())
            .setPod(
                PodRef.newBuilder()
                    .setUid(pod.uid())
                    .setNamespace(pod.namespace())
                    .setName(pod.name())
                    .addAllContainers(wanted.containers()));
    switch (wanted.request().size()) {
      case Size.Fraction(BigDecimal part) -> request.setFraction(part.doubleValue());
      case Size.Memory(long bytes) -> request.setMemoryBytes(bytes);
    }
    wanted.request().computePercent().ifPresent(request::setComputePercent);
    return request.build();
  }

  /** Known to who has the key alone. */
  String id(PodKey pod, String container) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      byte[] hash = mac.doFinal((pod.uid() + "/" + container).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(Arrays.copyOf(hash, ID_BYTES));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this Java has no " + ALGORITHM, e);
    }
  }
}
