// SPDX-License-Identifier: Apache-2.0
package io.gpupool.bench;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The kinds of calls that {@code gpupool bench collectives} measures, as nccl-tests name them. */
enum Collective {
  ALL_REDUCE("sum", -1, false),
  REDUCE("sum", 0, false),
  BROADCAST("none", 0, false),
  ALL_GATHER("none", -1, true),
  REDUCE_SCATTER("sum", -1, true),
  ALLTOALL("none", -1, true),
  SENDRECV("sum", -1, false);

  static final int ELEMENT_BYTES = 4;

  private final String operation;
  private final int root;
  private final boolean divides;

  Collective(String operation, int root, boolean divides) {
    this.operation = operation;
    this.root = root;
    this.divides = divides;
  }

  static Collective of(String text) {
    return Arrays.stream(values())
        .filter(kind -> kind.toString().equals(text))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "'"
                    + text
                    + "' is no call; there are "
                    + Arrays.stream(values())
                        .map(Collective::toString)
                        .collect(Collectors.joining(", "))));
  }

  /** What nccl-tests show as the reduction. */
  String operation() {
    return operation;
  }

  /** The rank of the root; -1: the call has none. */
  int root() {
    return root;
  }

  /** Returns the size that is measured where this one is asked for: of whole elements. */
  long sizeBytes(long askedBytes, int ranks) {
    long unit = ELEMENT_BYTES * (divides ? ranks : 1L);
    return askedBytes / unit * unit;
  }

  /** Returns the elements of a rank's part. */
  long count(long sizeBytes, int ranks) {
    return sizeBytes / ELEMENT_BYTES / (divides ? ranks : 1);
  }

  /** Returns what bus bandwidth is of algorithm bandwidth. */
  double busFactor(int ranks) {
    double others = ranks - 1;
    return switch (this) {
      case ALL_REDUCE -> 2 * others / ranks;
      case ALL_GATHER, REDUCE_SCATTER, ALLTOALL -> others / ranks;
      case REDUCE, BROADCAST, SENDRECV -> 1;
    };
  }

  /** Returns whether ranks send and receive at the same time. */
  boolean goesBothWays() {
    return this != REDUCE && this != BROADCAST;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
