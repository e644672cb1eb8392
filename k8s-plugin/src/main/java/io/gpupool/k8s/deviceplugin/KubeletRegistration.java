// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.k8s.deviceplugin.v1beta1.RegisterRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.RegistrationGrpc;
import io.gpupool.k8s.kubelet.KubeletSocket;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The registration of the plugin's socket with the kubelet: once with each kubelet, and again when
 * the kubelet has not watched the devices for too long. Owned by the plugin's thread.
 */
final class KubeletRegistration {
  private static final long CALL_SECONDS = 5;
  private static final Duration LONGEST_DELAY = Duration.ofSeconds(30);

  private final KubeletSocket kubelet;
  private final RegisterRequest request;
  private final long unwatchedNanos;
  private final EventLoopGroup loops;
  private final BackOff backOff;
  private final StateChangeLogger saying =
      new StateChangeLogger(LoggerFactory.getLogger(KubeletRegistration.class));
  private @Nullable FileIdentity known;
  private boolean registered;
  private long lastWatchedNanos;
  private volatile long registrations;

  KubeletRegistration(PluginOptions options, EventLoopGroup loops) {
    kubelet = new KubeletSocket(options.kubeletSocket());
    unwatchedNanos = options.unwatched().toNanos();
    backOff = BackOff.exact(options.lookEvery(), LONGEST_DELAY);
    this.loops = loops;
    request =
        RegisterRequest.newBuilder()
            .setVersion("v1beta1")
            .setEndpoint(options.socketName())
            .setResourceName(options.resource())
            .setOptions(DevicePluginService.OPTIONS)
            .build();
  }

  /** Returns how many times a kubelet has accepted it; for any thread. */
  long registrations() {
    return registrations;
  }

  /** Begins anew, because the plugin has a new socket. */
  void begin() {
    registered = false;
    backOff.reset();
    saying.anew();
  }

  /** Registers if it is time to. */
  void look(boolean watched, long nowNanos) {
    FileIdentity found = FileIdentity.of(kubelet.path()).orElse(null);
    if (!Objects.equals(found, known)) {
      known = found;
      begin();
    }
    if (found == null) {
      saying.info("there is no kubelet at " + kubelet + " (yet)");
    } else if (registered && watched) {
      lastWatchedNanos = nowNanos;
      backOff.reset();
    } else if (!registered || nowNanos - lastWatchedNanos >= unwatchedNanos) {
      if (backOff.isDue(nowNanos)) {
        register(nowNanos);
      }
    }
  }

  private void register(long nowNanos) {
    backOff.tried(nowNanos);
    ManagedChannel channel = kubelet.channel(loops);
    try {
      RegistrationGrpc.newBlockingStub(channel)
          .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
          .register(request);
      registered = true;
      registrations = registrations + 1;
      lastWatchedNanos = nowNanos;
      saying.info(
          "the kubelet at "
              + kubelet
              + " has "
              + request.getEndpoint()
              + " for "
              + request.getResourceName());
    } catch (StatusRuntimeException e) {
      registered = false;
      if (!Thread.currentThread().isInterrupted()) {
        saying.warn(refusal(e.getStatus()));
      }
    } finally {
      channel.shutdownNow();
    }
  }

  private String refusal(Status status) {
    return status.getCode() == Status.Code.UNAVAILABLE
        ? "no kubelet answers at " + kubelet + "; it is tried again"
        : "the kubelet at "
            + kubelet
            + " does not take "
            + request.getEndpoint()
            + " for "
            + request.getResourceName()
            + "; it is tried again: "
            + status.getCode()
            + " "
            + status.getDescription();
  }
}
