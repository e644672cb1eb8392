// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.ByteString;
import io.gpupool.control.state.v1.CommunicatorRankRecord;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.WireException;
import java.util.HexFormat;

/** The form in which a pool keeps the ranks of communicators. */
final class CommunicatorForm {
  private CommunicatorForm() {}

  static CommunicatorRankRecord rank(CommunicatorRank rank) {
    return CommunicatorRankRecord.newBuilder()
        .setServer(rank.server())
        .setSession(ByteString.copyFrom(rank.session().bytes()))
        .setRanks(rank.ranks())
        .setKey(ByteString.copyFrom(rank.key().bytes()))
        .setLeft(rank.hasLeft())
        .setUniqueId(ByteString.fromHex(rank.uniqueId()))
        .build();
  }

  static CommunicatorRank rank(CommunicatorRankRecord record) {
    try {
      return new CommunicatorRank(
          record.getServer(),
          SessionId.ofBytes(record.getSession().toByteArray()),
          record.getRanks(),
          SessionKey.ofBytes(record.getKey().toByteArray()),
          record.getLeft(),
          HexFormat.of().formatHex(record.getUniqueId().toByteArray()));
    } catch (WireException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }
}
