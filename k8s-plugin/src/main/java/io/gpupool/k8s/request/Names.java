// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.List;

/** The names in Kubernetes' objects. */
public final class Names {
  public static final String PREFIX = "gpupool.io/";

  /** The unit of scheduler, quota and device plugin: hundredths of GPUs. */
  public static final String GPU_PERCENT = PREFIX + "gpu-percent";

  public static final String GPU = PREFIX + "gpu";
  public static final String GPU_MEMORY = PREFIX + "gpu-memory";
  public static final String GPU_COMPUTE = PREFIX + "gpu-compute";

  /** Annotation with the exact request, written by the webhook alone. */
  public static final String REQUEST = PREFIX + "request";

  public static final String GPU_COUNT = PREFIX + "gpu-count";
  public static final String SELECT = PREFIX + "select";
  public static final String PRIORITY = PREFIX + "priority";

  /** Annotation: how the pod's programs use a GPU's time, {@code batch} or {@code latency}. */
  public static final String CLASS = PREFIX + "class";

  /** Annotation: how long the pod's programs outlive a broken connection, such as {@code 5m}. */
  public static final String RESUME_WINDOW = PREFIX + "resume-window";

  /** Annotation: the name of the gang with which the pod gets its lease, or waits. */
  public static final String GANG = PREFIX + "gang";

  /** Annotation: the number of pods of the gang. */
  public static final String GANG_SIZE = PREFIX + "gang-size";

  /** Annotation of pods that use claims of dynamic resource allocation: {@code true}. */
  public static final String CLAIMS = PREFIX + "claims";

  /** Label of pods that have asked, with the value {@code true}. */
  public static final String MANAGED = PREFIX + "managed";

  /** Label of objects; with the value {@link #IGNORE}, they are hidden from the webhook. */
  public static final String ADMISSION = PREFIX + "admission";

  public static final String IGNORE = "ignore";

  /** Scheduling gate that the controller lifts once the pod has its lease. */
  public static final String GATE = PREFIX + "lease";

  /** Annotation with the leases of a pod by container, written by the controller alone. */
  public static final String LEASES = PREFIX + "leases";

  /** Condition of a pod with the state of its leases. */
  public static final String CONDITION = PREFIX + "Lease";

  /** Annotation of a namespace: the tenant of its leases, if it is not the one of its own name. */
  public static final String TENANT = PREFIX + "tenant";

  /** Annotations of a namespace: the limits of its tenant. */
  public static final String QUOTA_GPUS = PREFIX + "quota-gpus";

  public static final String QUOTA_MEMORY = PREFIX + "quota-memory";
  public static final String QUOTA_LEASES = PREFIX + "quota-leases";

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
