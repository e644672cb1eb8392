// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.resource.v1.Device;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceAttribute;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceAttributeBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceBuilder;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceCapacity;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceCapacityBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The devices as published to Kubernetes: those of each pool, in lists that fit a slice. */
final class SlicePlan {
  // The limit for devices of which some may have taints.
  static final int DEVICES_PER_SLICE = 64;

  static final String TAINT = "gpupool.io/";
  private static final int TEXT = 64;

  private SlicePlan() {}

  /** Returns the lists of devices by pool. */
  static SortedMap<String, List<List<Device>>> of(List<PoolDevice> devices) {
    Map<String, List<PoolDevice>> pools =
        devices.stream()
            .sorted(Comparator.comparing(PoolDevice::name))
            .collect(Collectors.groupingBy(PoolDevice::pool));
    SortedMap<String, List<List<Device>>> plan = new TreeMap<>();
    pools.forEach((pool, members) -> plan.put(pool, slices(members)));
    return plan;
  }

  private static List<List<Device>> slices(List<PoolDevice> devices) {
    List<List<Device>> slices = new ArrayList<>();
    for (int from = 0; from < devices.size(); from += DEVICES_PER_SLICE) {
      int to = Math.min(from + DEVICES_PER_SLICE, devices.size());
      slices.add(devices.subList(from, to).stream().map(SlicePlan::device).toList());
    }
    return slices;
  }

  private static Device device(PoolDevice device) {
    int cuda = device.gpu().getDriverVersion();
    DeviceBuilder builder =
        new DeviceBuilder()
            .withName(device.name())
            .withAllowMultipleAllocations(true)
            .addToAttributes("model", text(device.gpu().getName()))
            .addToAttributes("server", text(device.gpu().getServer()))
            .addToAttributes("uuid", text(device.gpu().getUuid()))
            .addToAttributes("computeCapability", version(device.gpu().getComputeCapability()))
            .addToAttributes("cudaVersion", version(cuda / 1000 + "." + cuda % 1000 / 10))
            .addToCapacity(DraNames.MEMORY, memory(device.memoryMebibytes()))
            .addToCapacity(DraNames.COMPUTE, compute(device.computePercent()));
    if (!device.gpu().getDriver().isEmpty()) {
      builder.addToAttributes("driverVersion", version(device.gpu().getDriver()));
    }
    if (device.ailment() != null) {
      builder
          .addNewTaint()
          .withKey(TAINT + device.ailment())
          .withValue("true")
          .withEffect("NoSchedule")
          .endTaint();
    }
    return builder.build();
  }

  /** Returns the memory, of which a claim gets all unless it says how much. */
  private static DeviceCapacity memory(long mebibytes) {
    return new DeviceCapacityBuilder()
        .withValue(new Quantity(mebibytes + "Mi"))
        .withNewRequestPolicy()
        .withDefault(new Quantity(mebibytes + "Mi"))
        .withNewValidRange()
        .withMin(new Quantity("1Mi"))
        .withStep(new Quantity("1Mi"))
        .withMax(new Quantity(mebibytes + "Mi"))
        .endValidRange()
        .endRequestPolicy()
        .build();
  }

  /**
   * Returns the time, of which a claim gets the minimum unless it says how much. Otherwise a claim
   * for memory alone would take all of the GPU's time from others. Idle time is anybody's all the
   * same.
   */
  private static DeviceCapacity compute(int percent) {
    return new DeviceCapacityBuilder()
        .withValue(new Quantity(Integer.toString(percent)))
        .withNewRequestPolicy()
        .withDefault(new Quantity("1"))
        .withNewValidRange()
        .withMin(new Quantity("1"))
        .withStep(new Quantity("1"))
        .withMax(new Quantity(Integer.toString(percent)))
        .endValidRange()
        .endRequestPolicy()
        .build();
  }

  private static DeviceAttribute text(String value) {
    return new DeviceAttributeBuilder()
        .withString(value.substring(0, Math.min(TEXT, value.length())))
        .build();
  }

  /** Returns a version of three numbers without leading zeros, as Kubernetes compares versions. */
  static DeviceAttribute version(String value) {
    List<String> numbers =
        new ArrayList<>(
            Arrays.stream(value.split("[^0-9]+"))
                .filter(part -> !part.isEmpty())
                .map(part -> part.replaceFirst("^0+(?=.)", ""))
                .limit(3)
                .toList());
    while (numbers.size() < 3) {
      numbers.add("0");
    }
    return new DeviceAttributeBuilder().withVersion(String.join(".", numbers)).build();
  }
}
