// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import java.util.Comparator;

/** A name that sorts by the number at its end: {@code L9} before {@code L10}. */
record Place(String name) implements Comparable<Place> {
  private static final Comparator<Place> ORDER =
      Comparator.comparing(Place::word)
          .thenComparing(place -> place.number().length())
          .thenComparing(Place::number);

  @Override
  public int compareTo(Place other) {
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
