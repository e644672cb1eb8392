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
    Map<Integer, Long> ages = new TreeMap<>();
    for (ContextState context : contexts.all()) {
      handles
          .events()
          .forEachOwnedBy(
              context, (number, handle) -> ages.put(number, relocation.eventAge(handle, now)));
    }
    ages.values().removeIf(age -> age == Long.MIN_VALUE);
    to.writeInt(ages.size());
    for (Map.Entry<Integer, Long> age : ages.entrySet()) {
      to.writeInt(age.getKey());
      to.writeLong(age.getValue());
    }
  }

  @Override
  public void restore(DataInput from) throws IOException, RestoreException {
    long now = System.nanoTime();
    for (int count = from.readInt(); count > 0; count--) {
      long handle = handles.events().get(from.readInt());
      if (handle == SessionServices.NO_HANDLE) {
        throw new RestoreException("an event that was recorded is not there");
      }
      relocation.setEventAge(handle, from.readLong(), now);
    }
  }
}
