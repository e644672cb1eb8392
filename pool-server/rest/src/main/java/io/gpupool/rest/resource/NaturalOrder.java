// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import java.util.Comparator;

/** A name that sorts by the number at its end: {@code L9} before {@code L10}. */
record NaturalOrder(String name) implements Comparable<NaturalOrder> {
  private static final Comparator<NaturalOrder> ORDER =
      Comparator.comparing(NaturalOrder::word)
          .thenComparing(place -> place.number().length())
          .thenComparing(NaturalOrder::number);

  @Override
  public int compareTo(NaturalOrder other) {
    return ORDER.compare(this, other);
  }

  private String word() {
    return name.substring(0, wordLength());
  }

  private String number() {
    return name.substring(wordLength());
  }

  private int wordLength() {
    int length = name.length();
    while (length > 0 && name.charAt(length - 1) >= '0' && name.charAt(length - 1) <= '9') {
      length--;
    }
    return length;
  }
}
