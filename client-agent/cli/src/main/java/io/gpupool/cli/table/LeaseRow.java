// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.table;

import com.google.protobuf.Message;
import io.gpupool.cli.GpuPlace;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A row of a table of leases: a lease's share of a GPU, or below them one of its programs. */
public sealed interface LeaseRow {
  /** A lease's share of a GPU. */
  record Share(LeaseInfo lease, GrantUse use) implements LeaseRow {
    @Override
    public List<Message> messages() {
      return List.of(lease, use);
    }

    /** Returns the place of the GPU, such as {@code gpu-1/0}. */
    public String place() {
      return GpuPlace.of(use.getGrant());
    }
  }

  /** A program of a lease. */
  record Program(SessionInfo session) implements LeaseRow {
    @Override
    public List<Message> messages() {
      return List.of(session);
    }
  }

  /** Returns the messages of the row. */
  List<Message> messages();

  /** Returns the shares of a lease. */
  static List<Share> sharesOf(LeaseInfo lease) {
    return lease.getGrantsList().stream().map(use -> new Share(lease, use)).toList();
  }

  /** Returns all rows of a pool. */
  static List<LeaseRow> of(PoolSnapshot pool) {
    List<LeaseRow> rows = new ArrayList<>();
    for (LeaseInfo lease : pool.leases()) {
      rows.addAll(sharesOf(lease));
      pool.sessions().stream()
          .filter(session -> session.getLeaseId().equals(lease.getId()))
          .forEach(session -> rows.add(new Program(session)));
    }
    return rows;
  }

  /** Returns a cell that has one text for shares and another for programs. */
  static Function<LeaseRow, Object> cell(
      Function<Share, Object> ofShare, Function<SessionInfo, Object> ofProgram) {
    return row ->
        switch (row) {
          case Share share -> ofShare.apply(share);
          case Program program -> ofProgram.apply(program.session());
        };
  }
}
