// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.journal;

import io.gpupool.cuda.OpEffect;
import io.gpupool.worker.os.Memory;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The calls that made what a session has, in their order, without those whose effect is over. To
 * make them again makes the session again. Used by the session's thread alone.
 */
public final class Journal {
  private final Map<Key, Noted> entries = new LinkedHashMap<>();

  /** The keys of what ends with something. */
  private final Map<Key, Set<Key>> owned = new HashMap<>();

  private long additions;

  /**
   * A name for something of the session.
   *
   * @param owner null: it is an object, of which the number is the session's only one
   */
  private record Key(String kind, long number, @Nullable Key owner) {}

  /**
   * A call, and the owner of its effect.
   *
   * @param owner null: the session
   */
  private record Noted(JournalEntry entry, @Nullable Key owner) {}

  /**
   * Takes note of a call that has succeeded.
   *
   * @param effect what lasts of it
   * @param context the client's number of its context
   * @param frame where its frame lies
   * @param answer where the fixed outputs lie
   * @param numbers the numbers that the backend chose
   */
  public void note(
      OpEffect effect,
      int op,
      int context,
      long frame,
      int frameBytes,
      long answer,
      int answerBytes,
      long[] numbers) {
    OpEffect.Thing thing = effect.things().getFirst();
    Key owner = owner(effect, context, frame, answer);
    JournalEntry entry =
        new JournalEntry(
            op,
            context,
            Memory.bytes(frame, frameBytes),
            Memory.bytes(answer, answerBytes),
            numbers,
            effect.fixed());
    switch (effect.verb()) {
      case MAKES -> {
        Key key = new Key(thing.kind(), number(thing, context, frame, answer), null);
        // A context that is retained again, or a reference that is found again, is the same.
        if (!entries.containsKey(key)) {
          put(key, owner, entry);
        }
      }
      case SETS -> {
        Key key = new Key(thing.kind(), number(thing, context, frame, answer), owner);
        remove(key);
        put(key, owner, entry);
      }
      case ADDS -> put(new Key(thing.kind(), additions++, owner), owner, entry);
      case ENDS -> end(thing.kind(), number(thing, context, frame, answer));
      case CLEARS -> effect.things().forEach(cleared -> clear(cleared.kind(), owner));
    }
  }

  /** Takes note of the end of an object, with what it owns. */
  public void end(String kind, long number) {
    Key key = new Key(kind, number, null);
    remove(key);
    endOwned(key);
  }

  /** Takes note of the end of what an object owns. */
  public void endOwned(String kind, long number) {
    endOwned(new Key(kind, number, null));
  }

  /** Returns the calls, in the order in which they are to be made. */
  public List<JournalEntry> entries() {
    return entries.values().stream().map(Noted::entry).toList();
  }

  /** Returns what cannot move, if there is such a thing. */
  public Optional<String> fixed() {
    return entries.values().stream()
        .flatMap(noted -> Optional.ofNullable(noted.entry.fixed()).stream())
        .findFirst();
  }

  private void put(Key key, @Nullable Key owner, JournalEntry entry) {
    entries.put(key, new Noted(entry, owner));
    if (owner != null) {
      owned.computeIfAbsent(owner, absent -> new LinkedHashSet<>()).add(key);
    }
  }

  private void remove(Key key) {
    Noted noted = entries.remove(key);
    Key owner = noted == null ? null : noted.owner;
    Set<Key> siblings = owner == null ? null : owned.get(owner);
    if (siblings != null) {
      siblings.remove(key);
      if (siblings.isEmpty()) {
        owned.remove(owner);
      }
    }
  }

  private void clear(String kind, @Nullable Key owner) {
    Set<Key> siblings = owner == null ? null : owned.get(owner);
    if (siblings != null) {
      siblings.stream().filter(key -> key.kind.equals(kind)).toList().forEach(this::remove);
    }
  }

  private void endOwned(Key owner) {
    Set<Key> keys = owned.remove(owner);
    if (keys != null) {
      for (Key key : keys) {
        entries.remove(key);
        endOwned(key);
      }
    }
  }

  private static @Nullable Key owner(OpEffect effect, int context, long frame, long answer) {
    OpEffect.Thing owner = effect.owner();
    return owner == null
        ? null
        : new Key(owner.kind(), number(owner, context, frame, answer), null);
  }

  private static long number(OpEffect.Thing thing, int context, long frame, long answer) {
    return thing.isContext() ? context : thing.number(frame, answer);
  }
}
