// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.cli.lease.LeaseCommand;
import io.gpupool.control.v1.Column;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.json.DeclaredColumns;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The columns that fields declare, in the tables of the commands. */
class CommandColumnsTest {
  private static final PoolSnapshot POOL =
      new PoolSnapshot(
          List.of(ServerInfo.newBuilder().setState(ServerInfo.State.STATE_READY).build()),
          List.of(GpuInfo.getDefaultInstance()),
          List.of(
              LeaseInfo.newBuilder()
                  .setId("L1")
                  .setState(LeaseInfo.State.STATE_HELD)
                  .setIdleMillis(9000)
                  .addGrants(GrantUse.getDefaultInstance())
                  .build()),
          List.of(),
          List.of(
              SessionInfo.newBuilder()
                  .setLeaseId("L1")
                  .setState(SessionInfo.State.STATE_ATTACHED)
                  .setAgeMillis(7_200_000)
                  .setIdleMillis(180_000)
                  .build()));

  @Test
  void top_columns_areThoseThatFieldsDeclare() {
    String text = TopCommand.draw(POOL, true);
    for (Descriptor message :
        List.of(
            ServerInfo.getDescriptor(),
            GpuInfo.getDescriptor(),
            LeaseInfo.getDescriptor(),
            SessionInfo.getDescriptor())) {
      assertDeclared(text, message, Column.View.VIEW_TOP);
    }
  }

  @Test
  void top_columnOfOneMessage_isADashInRowsWithoutIt() {
    assertThat(TopCommand.draw(POOL, true))
        .containsPattern("LEASE +TENANT +GPU .* AGE +STATE +IDLE")
        .containsPattern("L1 .* 0s +held +9s")
        .containsPattern("  program +- .* 2h +attached +3m");
  }

  @Test
  void list_columns_areThoseThatFieldsDeclare() {
    assertDeclared(
        ListCommand.gpus(POOL).toString(), GpuInfo.getDescriptor(), Column.View.VIEW_LIST);
    assertDeclared(
        LeaseCommand.Queue.table(List.of()), QueueInfo.getDescriptor(), Column.View.VIEW_LIST);
  }

  private static void assertDeclared(String text, Descriptor message, Column.View view) {
    for (FieldDescriptor field : DeclaredColumns.of(message, view)) {
      String head = DeclaredColumns.of(field).getHead().toUpperCase(Locale.ROOT);
      assertThat(text).as(field.getFullName()).contains(head);
    }
  }
}
