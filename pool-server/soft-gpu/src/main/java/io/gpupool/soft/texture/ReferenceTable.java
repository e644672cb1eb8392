// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.texture;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The bindings of texture and surface references at one time, by the addresses of their symbols. A
 * launch reads through the table of its time, whatever is bound later. Immutable.
 */
public final class ReferenceTable {
  public static final ReferenceTable EMPTY = new ReferenceTable(new long[0], new Object[0]);

  /** Stands for what cannot be read, with the reason. */
  public record Unusable(String why) {}

  /** Few: those of the modules of a context. */
  private final long[] symbols;

  private final Object[] objects;

  private ReferenceTable(long[] symbols, Object[] objects) {
    this.symbols = symbols;
    this.objects = objects;
  }

  /**
   * The same with one more, or with something else in its place.
   *
   * @param object a {@link Texture}, a {@link Surface} or {@link Unusable}
   */
  public ReferenceTable with(long symbol, Object object) {
    int at = indexOf(symbol);
    int length = at < 0 ? symbols.length + 1 : symbols.length;
    long[] allSymbols = Arrays.copyOf(symbols, length);
    Object[] allObjects = Arrays.copyOf(objects, length);
    int place = at < 0 ? length - 1 : at;
    allSymbols[place] = symbol;
    allObjects[place] = object;
    return new ReferenceTable(allSymbols, allObjects);
  }

  /** The same without one. */
  public ReferenceTable without(long symbol) {
    int at = indexOf(symbol);
    if (at < 0) {
      return this;
    }
    int last = symbols.length - 1;
    long[] fewerSymbols = Arrays.copyOf(symbols, last);
    Object[] fewerObjects = Arrays.copyOf(objects, last);
    if (at < last) {
      fewerSymbols[at] = symbols[last];
      fewerObjects[at] = objects[last];
    }
    return new ReferenceTable(fewerSymbols, fewerObjects);
  }

  /** What a symbol is bound to; null if it is none, or bound to nothing yet. */
  public @Nullable Object find(long symbol) {
    int at = indexOf(symbol);
    return at < 0 ? null : objects[at];
  }

  private int indexOf(long symbol) {
    for (int i = 0; i < symbols.length; i++) {
      if (symbols[i] == symbol) {
        return i;
      }
    }
    return -1;
  }
}
