// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.List;

/** Names that stand in Kubernetes' objects. */
public final class Names {
  public static final String PREFIX = "gpupool.io/";

  /** What scheduler, quota and device plugin count: hundredths of GPUs. */
  public static final String GPU_PERCENT = PREFIX + "gpu-percent";

  public static final String GPU = PREFIX + "gpu";
  public static final String GPU_MEMORY = PREFIX + "gpu-memory";
  public static final String GPU_COMPUTE = PREFIX + "gpu-compute";

  /** Annotation with the exact request, written by the webhook alone. */
  public static final String REQUEST = PREFIX + "request";

  public static final String GPU_COUNT = PREFIX + "gpu-count";
  public static final String SELECT = PREFIX + "select";
  public static final String PRIORITY = PREFIX + "priority";

  /** Label of pods that have asked, with the value {@code true}. */
  public static final String MANAGED = PREFIX + "managed";

  /** Scheduling gate that the controller lifts once the pod has its lease. */
  public static final String GATE = PREFIX + "lease";

  static final String BITFUSION_PREFIX = "bitfusion.io/";
  static final String BITFUSION_AMOUNT = BITFUSION_PREFIX + "gpu-amount";
  static final String BITFUSION_PERCENT = BITFUSION_PREFIX + "gpu-percent";
  static final String BITFUSION_MEMORY = BITFUSION_PREFIX + "gpu-memory";
  static final String BITFUSION_MODE = "auto-management/bitfusion";
  static final String BITFUSION_FILTER = "bitfusion-client/filter";

  static final List<String> OWN = List.of(GPU, GPU_MEMORY, GPU_COMPUTE, GPU_PERCENT);
  static final List<String> BITFUSION =
      List.of(BITFUSION_AMOUNT, BITFUSION_PERCENT, BITFUSION_MEMORY);

  private Names() {}
}
