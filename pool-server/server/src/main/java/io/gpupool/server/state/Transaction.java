// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A pending commit. The records that it reads become its conditions; a record that it has not read
 * may be put or deleted unconditionally. Owned by the edit that it was made for.
 */
public final class Transaction {
  private final RecordStore records;
  private final Map<String, Condition> conditions = new LinkedHashMap<>();
  private final Map<String, Optional<?>> pending = new LinkedHashMap<>();
  private final Map<String, Write> writes = new LinkedHashMap<>();

  Transaction(RecordStore records) {
    this.records = records;
  }

  /** The record as this draft leaves it. */
  public <T> Optional<T> get(RecordType<T> kind, String id) {
    String key = kind.key(id);
    if (pending.containsKey(key)) {
      @SuppressWarnings("unchecked")
      Optional<T> written = (Optional<T>) pending.get(key);
      return written;
    }
    return read(kind, id).map(Versioned::value);
  }

  /** The revision of the record before this draft; 0: there is none. */
  public <T> long revision(RecordType<T> kind, String id) {
    return read(kind, id).map(Versioned::revision).orElse(0L);
  }

  public <T> void put(RecordType<T> kind, String id, T value) {
    put(kind, id, value, false);
  }

  /** Puts a record that goes when this server dies. */
  public <T> void putBound(RecordType<T> kind, String id, T value) {
    put(kind, id, value, true);
  }

  public <T> void delete(RecordType<T> kind, String id) {
    String key = kind.key(id);
    pending.put(key, Optional.empty());
    writes.put(key, new Write.Delete(key));
  }

  private <T> void put(RecordType<T> kind, String id, T value, boolean bound) {
    String key = kind.key(id);
    pending.put(key, Optional.of(value));
    writes.put(key, new Write.Put(key, kind.encoder().apply(value), bound));
  }

  private <T> Optional<Versioned<T>> read(RecordType<T> kind, String id) {
    Optional<Versioned<T>> record = records.get(kind, id);
    String key = kind.key(id);
    conditions.putIfAbsent(key, new Condition(key, record.map(Versioned::revision).orElse(0L)));
    return record;
  }

  List<Condition> conditions() {
    return new ArrayList<>(conditions.values());
  }

  List<Write> writes() {
    return new ArrayList<>(writes.values());
  }
}
