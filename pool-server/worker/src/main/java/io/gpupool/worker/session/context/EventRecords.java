// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.context;

import io.gpupool.cuda.Relocation;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.journal.SavedTopic;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The times at which events were reached. Used by the session's thread alone. */
public final class EventRecords implements SavedTopic {
  private final Relocation relocation;
  private final HandleTables handles;
  private final Contexts contexts;

  public EventRecords(Relocation relocation, HandleTables handles, Contexts contexts) {
    this.relocation = relocation;
    this.handles = handles;
    this.contexts = contexts;
  }

  @Override
  public void save(DataOutput to) throws IOException {
    long now = System.nanoTime();
    List<ContextState> all = contexts.all();
    to.writeInt(all.size());
    for (ContextState context : all) {
      to.writeInt(context.number);
      save(context, now, to);
    }
  }

  private void save(ContextState context, long now, DataOutput to) throws IOException {
    Map<Integer, Long> events = new TreeMap<>();
    handles.events().forEachOwnedBy(context, events::put);
    List<Integer> numbers = List.copyOf(events.keySet());
    long[] ages = relocation.eventAges(context.handle, longs(events.values()), now);
    to.writeInt((int) Arrays.stream(ages).filter(age -> age != Relocation.NO_AGE).count());
    for (int i = 0; i < ages.length; i++) {
      if (ages[i] != Relocation.NO_AGE) {
        to.writeInt(numbers.get(i));
        to.writeLong(ages[i]);
      }
    }
  }

  private static long[] longs(Collection<Long> values) {
    return values.stream().mapToLong(Long::longValue).toArray();
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    long now = System.nanoTime();
    for (int count = from.readInt(); count > 0; count--) {
      restore(contexts.find(from.readInt()), now, from);
    }
  }

  private void restore(ContextState context, long now, DataInput from)
      throws IOException, RestoreException {
    List<Long> events = new ArrayList<>();
    List<Long> ages = new ArrayList<>();
    for (int count = from.readInt(); count > 0; count--) {
      long handle = handles.events().get(from.readInt());
      if (handle == SessionServices.NO_HANDLE) {
        throw new RestoreException("an event that was recorded is not there");
      }
      events.add(handle);
      ages.add(from.readLong());
    }
    relocation.setEventAges(context.handle, longs(events), longs(ages), now);
  }
}
