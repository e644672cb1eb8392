// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import com.google.protobuf.ByteString;
import io.gpupool.control.etcd.Compare;
import io.gpupool.control.etcd.DeleteRangeRequest;
import io.gpupool.control.etcd.KeyValue;
import io.gpupool.control.etcd.PutRequest;
import io.gpupool.control.etcd.RangeRequest;
import io.gpupool.control.etcd.RequestOp;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.Write;
import java.util.Optional;

/**
 * The etcd keys of a pool, and requests about them. Besides the pool's own there are two for each
 * server: {@code alive/NAME}, which goes with its etcd lease, and {@code commits/NAME}, which each
 * of its commits writes.
 */
record Keys(String prefix) {
  private static final String DATA = "data/";

  /** Everything of the pool. */
  ByteString all() {
    return ByteString.copyFromUtf8(prefix);
  }

  /** The first key behind everything of the pool. */
  ByteString end() {
    String head = prefix.substring(0, prefix.length() - 1);
    return ByteString.copyFromUtf8(head + (char) (prefix.charAt(prefix.length() - 1) + 1));
  }

  ByteString data(String key) {
    return ByteString.copyFromUtf8(prefix + DATA + key);
  }

  ByteString alive(String server) {
    return ByteString.copyFromUtf8(prefix + "alive/" + server);
  }

  ByteString commits(String server) {
    return ByteString.copyFromUtf8(prefix + "commits/" + server);
  }

  /** The pool's name of a key; empty for one of the two. */
  Optional<String> name(ByteString key) {
    String text = key.toStringUtf8();
    return text.startsWith(prefix + DATA)
        ? Optional.of(text.substring(prefix.length() + DATA.length()))
        : Optional.empty();
  }

  Optional<Entry> entry(KeyValue kv) {
    return name(kv.getKey())
        .map(name -> new Entry(name, kv.getValue(), kv.getModRevision(), kv.getLease() != 0));
  }

  Compare compare(Condition condition) {
    return wasWrittenAt(data(condition.key()), condition.revision());
  }

  RequestOp write(Write write, long leaseId) {
    return switch (write) {
      case Write.Put put -> put(data(put.key()), put.value(), put.bound() ? leaseId : 0);
      case Write.Delete delete ->
          RequestOp.newBuilder()
              .setRequestDeleteRange(DeleteRangeRequest.newBuilder().setKey(data(delete.key())))
              .build();
    };
  }

  /** That a key was last written at this revision; 0: that there is none. */
  static Compare wasWrittenAt(ByteString key, long revision) {
    return Compare.newBuilder()
        .setKey(key)
        .setTarget(Compare.CompareTarget.MOD)
        .setModRevision(revision)
        .build();
  }

  static RequestOp put(ByteString key, ByteString value, long leaseId) {
    return RequestOp.newBuilder()
        .setRequestPut(PutRequest.newBuilder().setKey(key).setValue(value).setLease(leaseId))
        .build();
  }

  static RequestOp get(ByteString key) {
    return RequestOp.newBuilder().setRequestRange(RangeRequest.newBuilder().setKey(key)).build();
  }
}
