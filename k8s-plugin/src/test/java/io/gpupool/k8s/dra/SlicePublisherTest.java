// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceClass;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceClassBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSlice;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSliceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.api.TestApiServer;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class SlicePublisherTest {
  private static final DraOptions OPTIONS =
      DraOptions.of("pool", "test", "dra", Duration.ofMinutes(10));

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  private Instant now = Instant.parse("2026-11-22T00:00:00Z");

  private void publish(Devices devices, String... servers) {
    new SlicePublisher(client, OPTIONS, Clock.fixed(now, ZoneOffset.UTC))
        .publish(SlicePlan.of(devices.all()), Set.of(servers));
  }

  private List<ResourceSlice> slices() {
    return client.resources(ResourceSlice.class).list().getItems().stream()
        .sorted(Comparator.comparing(slice -> slice.getMetadata().getName()))
        .toList();
  }

  private static Devices devices(int count) {
    Devices devices = new Devices().server("gpu-1", "ready");
    for (int i = 0; i < count; i++) {
      devices
          .gpu("gpu-1", "GPU-%03d".formatted(i), true)
          .partition("GPU-%03d".formatted(i), "dra", 1000, 50, "claims");
    }
    return devices;
  }

  @Test
  void publish_twice_writesOnce() {
    publish(devices(100), "gpu-1");
    List<ResourceSlice> first = slices();
    publish(devices(100), "gpu-1");
    assertThat(slices()).isEqualTo(first);
    assertThat(first)
        .extracting(slice -> slice.getMetadata().getName())
        .containsExactly("pool-gpu-1-0", "pool-gpu-1-1");
    assertThat(first)
        .allSatisfy(slice -> {
          assertThat(slice.getSpec().getAllNodes()).isTrue();
          assertThat(slice.getSpec().getDriver()).isEqualTo("gpupool.io");
          assertThat(slice.getSpec().getNodeName()).isNull();
          assertThat(slice.getSpec().getPool().getName()).isEqualTo("gpu-1");
          assertThat(slice.getSpec().getPool().getGeneration()).isEqualTo(1);
          assertThat(slice.getSpec().getPool().getResourceSliceCount()).isEqualTo(2);
        });
  }

  @Test
  void publish_apiServerHasLearnedAField_writesSlicesAnew() {
    AtomicReference<Instant> time = new AtomicReference<>(now);
    SlicePublisher publisher =
        new SlicePublisher(client, OPTIONS, ((InstantSource) time::get).withZone(ZoneOffset.UTC));
    publisher.publish(SlicePlan.of(devices(1).all()), Set.of("gpu-1"));
    // As it is left by an API server that does not know the field.
    client
        .resource(slices().getFirst())
        .edit(slice ->
            new ResourceSliceBuilder(slice)
                .editSpec()
                .editFirstDevice()
                .withAllowMultipleAllocations(null)
                .endDevice()
                .endSpec()
                .build());
    publisher.publish(SlicePlan.of(devices(1).all()), Set.of("gpu-1"));
    assertThat(slices().getFirst().getSpec().getPool().getGeneration()).isEqualTo(1);
    time.set(now.plus(SliceProbe.EVERY));
    publisher.publish(SlicePlan.of(devices(1).all()), Set.of("gpu-1"));
    assertThat(slices().getFirst().getSpec())
        .satisfies(spec -> {
          assertThat(spec.getPool().getGeneration()).isEqualTo(2);
          assertThat(spec.getDevices().getFirst().getAllowMultipleAllocations()).isTrue();
        });
    time.set(now.plus(SliceProbe.EVERY.multipliedBy(2)));
    publisher.publish(SlicePlan.of(devices(1).all()), Set.of("gpu-1"));
    assertThat(slices().getFirst().getSpec().getPool().getGeneration()).isEqualTo(2);
  }

  @Test
  void slices_goWithTheReleasesClass() {
    DeviceClass release =
        client
            .resource(
                new DeviceClassBuilder()
                    .withNewMetadata()
                    .withName("gpupool.io")
                    .endMetadata()
                    .withNewSpec()
                    .endSpec()
                    .build())
            .create();
    publish(devices(1), "gpu-1");
    assertThat(slices().getFirst().getMetadata().getOwnerReferences())
        .singleElement()
        .satisfies(owner -> {
          assertThat(owner.getApiVersion()).isEqualTo("resource.k8s.io/v1");
          assertThat(owner.getKind()).isEqualTo("DeviceClass");
          assertThat(owner.getName()).isEqualTo("gpupool.io");
          assertThat(owner.getUid()).isEqualTo(release.getMetadata().getUid());
        });
  }

  @Test
  void publish_fewerDevices_raisesTheGenerationOfAllAndRemovesTheRest() {
    publish(devices(100), "gpu-1");
    publish(devices(3), "gpu-1");
    assertThat(slices())
        .singleElement()
        .satisfies(slice -> {
          assertThat(slice.getSpec().getDevices()).hasSize(3);
          assertThat(slice.getSpec().getPool().getGeneration()).isEqualTo(2);
          assertThat(slice.getSpec().getPool().getResourceSliceCount()).isEqualTo(1);
        });
  }

  @Test
  void publish_anyHistory_leavesEachPoolWhole() {
    Random random = new Random(7);
    for (int round = 0; round < 30; round++) {
      Devices devices = devices(random.nextInt(300));
      publish(devices, "gpu-1");
      List<ResourceSlice> slices = slices();
      Set<String> names =
          slices.stream()
              .flatMap(slice -> slice.getSpec().getDevices().stream())
              .map(Device::getName)
              .collect(Collectors.toSet());
      assertThat(names).hasSize(devices.all().size());
      assertThat(slices)
          .allSatisfy(slice -> {
            assertThat(slice.getSpec().getPool().getResourceSliceCount()).isEqualTo(slices.size());
            assertThat(slice.getSpec().getPool().getGeneration())
                .isEqualTo(slices.getFirst().getSpec().getPool().getGeneration());
          });
    }
  }

  @Test
  void publish_apiServerThatKeepsLess_isNotWrittenAgainAndAgain() {
    publish(devices(1), "gpu-1");
    ResourceSlice slice = slices().getFirst();
    Device device = slice.getSpec().getDevices().getFirst();
    device.setAllowMultipleAllocations(null);
    device.getCapacity().values().forEach(capacity -> capacity.setRequestPolicy(null));
    client.resource(new ResourceSliceBuilder(slice).build()).update();
    List<ResourceSlice> kept = slices();
    publish(devices(1), "gpu-1");
    assertThat(slices()).isEqualTo(kept);
  }

  @Test
  void publish_serverGone_evictsAndForgetsAfterAWhile() {
    publish(devices(2), "gpu-1");
    publish(new Devices());
    assertThat(slices().getFirst().getSpec().getDevices())
        .hasSize(2)
        .allSatisfy(device ->
            assertThat(device.getTaints())
                .singleElement()
                .satisfies(taint -> {
                  assertThat(taint.getKey()).isEqualTo("gpupool.io/server-gone");
                  assertThat(taint.getEffect()).isEqualTo("NoExecute");
                }));
    long generation = slices().getFirst().getSpec().getPool().getGeneration();
    now = now.plus(Duration.ofMinutes(9));
    publish(new Devices());
    assertThat(slices().getFirst().getSpec().getPool().getGeneration()).isEqualTo(generation);
    now = now.plus(Duration.ofMinutes(2));
    publish(new Devices());
    assertThat(slices()).isEmpty();
  }

  @Test
  void publish_serverBack_isAsBefore() {
    publish(devices(2), "gpu-1");
    publish(new Devices());
    publish(devices(2), "gpu-1");
    ResourceSlice slice = slices().getFirst();
    assertThat(slice.getSpec().getDevices()).allMatch(device -> device.getTaints().isEmpty());
    assertThat(slice.getSpec().getPool().getGeneration()).isEqualTo(3);
    assertThat(slice.getMetadata().getAnnotations()).doesNotContainKey(SlicePublisher.GONE);
  }

  @Test
  void publish_partitionsTakenAway_removesTheirSlicesAtOnce() {
    publish(devices(2), "gpu-1");
    publish(new Devices().server("gpu-1", "ready"), "gpu-1");
    assertThat(slices()).isEmpty();
  }

  @Test
  void publish_slicesOfOthers_areLeftAlone() {
    ResourceSlice other =
        new ResourceSliceBuilder()
            .withNewMetadata()
            .withName("node-7-nvidia")
            .endMetadata()
            .withNewSpec()
            .withDriver("gpu.nvidia.com")
            .withNodeName("node-7")
            .withNewPool()
            .withName("node-7")
            .withGeneration(1L)
            .withResourceSliceCount(1L)
            .endPool()
            .endSpec()
            .build();
    client.resource(other).create();
    new SlicePublisher(client, OPTIONS, Clock.systemUTC()).publish(new TreeMap<>(), Set.of());
    assertThat(slices()).hasSize(1);
  }
}
