// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.image;

import com.google.protobuf.ByteString;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import java.security.SecureRandom;

/** The secret keys of a pool, which are in its state. */
public final class PoolKeys {
  private static final int BYTES = 32;

  private PoolKeys() {}

  /** Returns the key of a name, which is made if there is none. */
  public static byte[] get(RecordStore records, String name) throws StateException {
    return records
        .transact(transaction ->
            transaction
                .get(RecordTypes.KEYS, name)
                .orElseGet(() -> {
                  byte[] fresh = new byte[BYTES];
                  new SecureRandom().nextBytes(fresh);
                  ByteString key = ByteString.copyFrom(fresh);
                  transaction.put(RecordTypes.KEYS, name, key);
                  return key;
                }))
        .toByteArray();
  }
}
