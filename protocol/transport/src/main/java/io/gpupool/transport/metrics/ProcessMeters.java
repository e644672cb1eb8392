// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.metrics;

import io.gpupool.wire.BuildVersion;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.netty4.NettyAllocatorMetrics;
import io.micrometer.core.instrument.binder.netty4.NettyEventExecutorMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.registry.otlp.OtlpConfig;
import io.micrometer.registry.otlp.OtlpMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The meters of a process: of its JVM, its buffers and event loops, and those that its parts
 * register. {@link #page} shows them to Prometheus; where there is a collector of OpenTelemetry,
 * they are sent to it, too. For any thread.
 */
public final class ProcessMeters implements AutoCloseable {
  private final CompositeMeterRegistry registry = new CompositeMeterRegistry();
  private final MeterPage page = new MeterPage();
  private final @Nullable MeterRegistry sent;
  private final JvmGcMetrics collections = new JvmGcMetrics();

  /**
   * Begins to measure.
   *
   * @param process its name for the collector
   * @param collector where measurements are sent; null: nowhere
   */
  public ProcessMeters(String process, @Nullable OtlpCollector collector) {
    registry.add(page.registry());
    sent = collector == null ? null : sender(process, collector);
    if (sent != null) {
      registry.add(sent);
    }
    registry.config().meterFilter(new BinderMeters());
    new JvmMemoryMetrics().bindTo(registry);
    collections.bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ClassLoaderMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    new FileDescriptorMetrics().bindTo(registry);
    if (ByteBufAllocator.DEFAULT instanceof ByteBufAllocatorMetricProvider buffers) {
      new NettyAllocatorMetrics(buffers).bindTo(registry);
    }
  }

  private static MeterRegistry sender(String process, OtlpCollector collector) {
    OtlpConfig config =
        new OtlpConfig() {
          @Override
          public @Nullable String get(String key) {
            return null;
          }

          @Override
          public String url() {
            return collector.url().toString();
          }

          @Override
          public Duration step() {
            return collector.step();
          }

          @Override
          public Map<String, String> resourceAttributes() {
            return Map.of("service.name", process, "service.version", BuildVersion.TEXT);
          }
        };
    return new OtlpMeterRegistry(config, Clock.SYSTEM);
  }

  /** Returns the registry in which parts of the process register their meters. */
  public MeterRegistry registry() {
    return registry;
  }

  /** The registry of what the collector is sent and {@link #page} does not show. */
  public Optional<MeterRegistry> sent() {
    return Optional.ofNullable(sent);
  }

  /** A gauge that has no value while it is not known; its unit may be empty. */
  public void gauge(String name, String unit, String help, Supplier<OptionalDouble> value) {
    Gauge.builder(name, () -> value.get().orElse(Double.NaN))
        .description(help)
        .baseUnit(unit.isEmpty() ? null : unit)
        .register(registry);
  }

  /** Measures event loops, too. */
  public void add(EventLoopGroup loops) {
    new NettyEventExecutorMetrics(loops).bindTo(registry);
  }

  /** Text for Prometheus of the metrics whose names are asked for. */
  public String page(Predicate<String> names) {
    return page.text(names);
  }

  /** Sends what was measured last, where there is a collector. */
  @Override
  public void close() {
    collections.close();
    registry.getRegistries().forEach(MeterRegistry::close);
    registry.close();
  }
}
