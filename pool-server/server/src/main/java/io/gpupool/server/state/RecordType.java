// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.protobuf.ByteString;
import java.util.function.Function;

/**
 * A type of record: the prefix of its keys and its encoding.
 *
 * @param prefix of its keys, ending with a slash
 */
public record RecordType<T>(String prefix, Function<T, ByteString> encoder, Decoder<T> decoder) {
  /** Reads what an encoder wrote. */
  public interface Decoder<T> {
    T decode(ByteString bytes) throws StateException;
  }

  String key(String id) {
    return prefix + id;
  }
}
