// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.gpupool.control.keda.ExternalScalerGrpc;
import io.gpupool.control.keda.GetMetricSpecResponse;
import io.gpupool.control.keda.GetMetricsRequest;
import io.gpupool.control.keda.GetMetricsResponse;
import io.gpupool.control.keda.IsActiveResponse;
import io.gpupool.control.keda.MetricSpec;
import io.gpupool.control.keda.MetricValue;
import io.gpupool.control.keda.ScaledObjectRef;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A scaler that tells KEDA how many servers a pool needs: one metric, in servers, one for each
 * replica. KEDA shows no token in the metadata of its calls, so the metadata of the trigger holds
 * it. gRPC calls the service on the control thread.
 */
public final class ExternalScalerService extends ExternalScalerGrpc.ExternalScalerImplBase {
  static final String METRIC = "gpupool-servers";
  private static final int MAX_OBJECTS = 256;
  private static final long LOOK_MILLIS = 1000;

  private final PoolWatch pool;

  /** The last decisions, by scaled object. */
  private final Cache<String, ScalingTarget> targets =
      Caffeine.newBuilder().maximumSize(MAX_OBJECTS).executor(Runnable::run).build();

  public ExternalScalerService(PoolWatch pool) {
    this.pool = pool;
  }

  @Override
  public void isActive(ScaledObjectRef object, StreamObserver<IsActiveResponse> reply) {
    wanted(object, reply)
        .ifPresent(servers -> {
          reply.onNext(active(servers));
          reply.onCompleted();
        });
  }

  @Override
  public void streamIsActive(ScaledObjectRef object, StreamObserver<IsActiveResponse> reply) {
    ServerCallStreamObserver<IsActiveResponse> stream =
        (ServerCallStreamObserver<IsActiveResponse>) reply;
    // What is sent after a cancellation is dropped.
    stream.setOnCancelHandler(() -> {});
    follow(object, stream, null);
  }

  @Override
  public void getMetricSpec(ScaledObjectRef object, StreamObserver<GetMetricSpecResponse> reply) {
    wanted(object, reply)
        .ifPresent(servers -> {
          reply.onNext(
              GetMetricSpecResponse.newBuilder()
                  .addMetricSpecs(
                      MetricSpec.newBuilder()
                          .setMetricName(METRIC)
                          .setTargetSize(1)
                          .setTargetSizeFloat(1))
                  .build());
          reply.onCompleted();
        });
  }

  @Override
  public void getMetrics(GetMetricsRequest request, StreamObserver<GetMetricsResponse> reply) {
    wanted(request.getScaledObjectRef(), reply)
        .ifPresent(servers -> {
          reply.onNext(
              GetMetricsResponse.newBuilder()
                  .addMetricValues(
                      MetricValue.newBuilder()
                          .setMetricName(METRIC)
                          .setMetricValue(servers)
                          .setMetricValueFloat(servers))
                  .build());
          reply.onCompleted();
        });
  }

  private void follow(
      ScaledObjectRef object,
      ServerCallStreamObserver<IsActiveResponse> stream,
      @Nullable IsActiveResponse told) {
    if (stream.isCancelled()) {
      return;
    }
    wanted(object, stream)
        .ifPresent(servers -> {
          IsActiveResponse now = active(servers);
          if (!Objects.equals(told, now)) {
            stream.onNext(now);
          }
          pool.after(LOOK_MILLIS, () -> follow(object, stream, now));
        });
  }

  private static IsActiveResponse active(int servers) {
    return IsActiveResponse.newBuilder().setResult(servers > 0).build();
  }

  /** How many servers there are to be; empty if the caller was told why it is not. */
  private Optional<Integer> wanted(ScaledObjectRef object, StreamObserver<?> reply) {
    ScalingPolicy policy;
    try {
      policy = ScalingPolicy.of(object.getScalerMetadataMap());
    } catch (IllegalArgumentException e) {
      reply.onError(Status.INVALID_ARGUMENT.withDescription(e.getMessage()).asRuntimeException());
      return Optional.empty();
    }
    Map<String, String> metadata = object.getScalerMetadataMap();
    Optional<PoolLoad> load =
        pool.load(metadata.getOrDefault(PoolWatch.TOKEN, metadata.get(PoolWatch.TOKEN_FROM_ENV)));
    if (load.isEmpty()) {
      reply.onError(
          Status.UNAUTHENTICATED
              .withDescription(
                  "the trigger's metadata needs a token, as '"
                      + PoolWatch.TOKEN_FROM_ENV
                      + "' or '"
                      + PoolWatch.TOKEN
                      + "'; there is none, or it is not known")
              .asRuntimeException());
      return Optional.empty();
    }
    String key = object.getNamespace() + "/" + object.getName();
    ScalingTarget target =
        Scaler.next(targets.getIfPresent(key), load.get(), policy, pool.nowMillis());
    targets.put(key, target);
    return Optional.of(target.servers());
  }
}
