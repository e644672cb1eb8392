// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceClass;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSlice;
import io.fabric8.kubernetes.api.model.resource.v1.ResourceSliceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A publisher of the pool's devices as the API server's slices. It remembers nothing: it compares
 * the devices with the published slices and, from time to time, with what the API server would keep
 * of them. Used by one thread.
 */
final class SlicePublisher {
  static final String LABEL = "gpupool.io/release";

  /** A digest of the wanted devices: an older API server keeps only the fields that it knows. */
  static final String CONTENT = "gpupool.io/content";

  /** The time since which the server has been missing. */
  static final String GONE = "gpupool.io/gone-since";

  private static final String TAINT = SlicePlan.TAINT + "server-gone";
  private static final Logger LOG = LoggerFactory.getLogger(SlicePublisher.class);

  private final KubernetesClient client;
  private final DraOptions options;
  private final Clock clock;
  private final SliceProbe probe;
  private boolean probing;

  SlicePublisher(KubernetesClient client, DraOptions options, Clock clock) {
    this.client = client;
    this.options = options;
    this.clock = clock;
    probe = new SliceProbe(client, clock);
  }

  /**
   * Publishes the devices. Throws {@link io.fabric8.kubernetes.client.KubernetesClientException} if
   * the API server does not accept them; the next call goes on from what is there.
   *
   * @param plan the devices of each pool, slice by slice
   * @param servers the pools of all servers that are there, with or without devices
   */
  void publish(SortedMap<String, List<List<Device>>> plan, Set<String> servers) {
    probing = probe.isDue();
    Map<String, List<ResourceSlice>> published = new TreeMap<>();
    client
        .resources(ResourceSlice.class)
        .withLabel(LABEL, options.release())
        .list()
        .getItems()
        .forEach(slice ->
            published
                .computeIfAbsent(slice.getSpec().getPool().getName(), pool -> new ArrayList<>())
                .add(slice));
    published
        .values()
        .forEach(slices -> slices.sort(Comparator.comparingInt(SlicePublisher::index)));
    plan.forEach(
        (pool, slices) -> write(pool, slices, published.getOrDefault(pool, List.of()), Map.of()));
    published.forEach((pool, slices) -> {
      if (servers.contains(pool) && !plan.containsKey(pool)) {
        LOG.info("pool {} has no devices for claims any more", pool);
        slices.forEach(slice -> client.resource(slice).delete());
      } else if (!plan.containsKey(pool)) {
        leave(pool, slices);
      }
    });
  }

  /** Evicts the pods of a server that is gone, and forgets the server after a while. */
  private void leave(String pool, List<ResourceSlice> slices) {
    String since = annotation(slices.getFirst(), GONE);
    if (since.isEmpty()) {
      LOG.warn("server {} is gone: its devices are tainted", pool);
      List<List<Device>> tainted =
          slices.stream()
              .map(slice -> slice.getSpec().getDevices().stream().map(this::tainted).toList())
              .toList();
      write(pool, tainted, slices, Map.of(GONE, clock.instant().toString()));
    } else if (Duration.between(Instant.parse(since), clock.instant()).compareTo(options.gone())
        > 0) {
      slices.forEach(slice -> client.resource(slice).delete());
    }
  }

  private Device tainted(Device device) {
    return new DeviceBuilder(device)
        .addNewTaint()
        .withKey(TAINT)
        .withValue("true")
        .withEffect("NoExecute")
        .endTaint()
        .build();
  }

  private void write(
      String pool,
      List<List<Device>> wanted,
      List<ResourceSlice> published,
      Map<String, String> annotations) {
    List<String> contents = wanted.stream().map(SlicePublisher::digest).toList();
    long generation =
        published.stream()
            .mapToLong(slice -> slice.getSpec().getPool().getGeneration())
            .max()
            .orElse(0);
    if (isThere(contents, published, generation, annotations) && !hasLearned(wanted, published)) {
      return;
    }
    List<OwnerReference> owners = owners();
    // All slices of a pool have the same generation, or the scheduler waits until they do.
    for (int i = 0; i < wanted.size(); i++) {
      Map<String, String> all = new TreeMap<>(annotations);
      all.put(CONTENT, contents.get(i));
      ResourceSlice slice = slice(pool, i, wanted, generation + 1, all, owners);
      String name = slice.getMetadata().getName();
      published.stream()
          .filter(old -> old.getMetadata().getName().equals(name))
          .findFirst()
          .ifPresentOrElse(
              old -> {
                slice.getMetadata().setResourceVersion(old.getMetadata().getResourceVersion());
                client.resource(slice).update();
              },
              () -> client.resource(slice).create());
    }
    published.stream()
        .filter(old -> index(old) >= wanted.size())
        .forEach(old -> client.resource(old).delete());
    LOG.info(
        "pool {} has {} devices for claims, generation {}",
        pool,
        wanted.stream().mapToInt(List::size).sum(),
        generation + 1);
  }

  private boolean hasLearned(List<List<Device>> wanted, List<ResourceSlice> published) {
    for (int i = 0; probing && i < wanted.size(); i++) {
      if (probe.wouldDiffer(published.get(i), wanted.get(i))) {
        LOG.info("the API server keeps other fields of slices than before");
        return true;
      }
    }
    return false;
  }

  private static boolean isThere(
      List<String> contents,
      List<ResourceSlice> published,
      long generation,
      Map<String, String> annotations) {
    if (published.size() != contents.size()) {
      return false;
    }
    for (int i = 0; i < contents.size(); i++) {
      ResourceSlice slice = published.get(i);
      if (index(slice) != i
          || slice.getSpec().getPool().getGeneration() != generation
          || slice.getSpec().getPool().getResourceSliceCount() != contents.size()
          || !annotation(slice, CONTENT).equals(contents.get(i))
          || !annotation(slice, GONE).equals(annotations.getOrDefault(GONE, ""))) {
        return false;
      }
    }
    return true;
  }

  /** Returns the device class as the slices' owner, so that they go with the release. */
  private List<OwnerReference> owners() {
    DeviceClass release = client.resources(DeviceClass.class).withName(DraNames.DRIVER).get();
    return release == null
        ? List.of()
        : List.of(
            new OwnerReferenceBuilder()
                .withApiVersion(release.getApiVersion())
                .withKind(release.getKind())
                .withName(release.getMetadata().getName())
                .withUid(release.getMetadata().getUid())
                .build());
  }

  private ResourceSlice slice(
      String pool,
      int index,
      List<List<Device>> wanted,
      long generation,
      Map<String, String> annotations,
      List<OwnerReference> owners) {
    return new ResourceSliceBuilder()
        .withNewMetadata()
        .withName(options.release() + "-" + pool + "-" + index)
        .addToLabels(LABEL, options.release())
        .addToAnnotations(annotations)
        .withOwnerReferences(owners)
        .endMetadata()
        .withNewSpec()
        .withDriver(DraNames.DRIVER)
        .withAllNodes(true)
        .withNewPool()
        .withName(pool)
        .withGeneration(generation)
        .withResourceSliceCount((long) wanted.size())
        .endPool()
        .withDevices(wanted.get(index))
        .endSpec()
        .build();
  }

  private static int index(ResourceSlice slice) {
    String name = slice.getMetadata().getName();
    return Integer.parseInt(name.substring(name.lastIndexOf('-') + 1));
  }

  private static String annotation(ResourceSlice slice, String name) {
    Map<String, String> annotations = slice.getMetadata().getAnnotations();
    return annotations == null ? "" : annotations.getOrDefault(name, "");
  }

  private static String digest(List<Device> devices) {
    try {
      byte[] text = Serialization.asJson(devices).getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text), 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
