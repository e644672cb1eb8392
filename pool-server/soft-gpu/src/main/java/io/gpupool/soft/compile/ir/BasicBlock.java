// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** A straight run of operations. */
public final class BasicBlock {
  private final int id;
  private final List<Op> ops = new ArrayList<>();
  private final List<BasicBlock> predecessors = new ArrayList<>();
  private final BitSet liveIn = new BitSet();

  @SuppressWarnings("NullAway.Init")
  private Terminator terminator;

  private int resumeId;

  BasicBlock(int id) {
    this.id = id;
  }

  int id() {
    return id;
  }

  public List<Op> ops() {
    return ops;
  }

  public List<BasicBlock> predecessors() {
    return predecessors;
  }

  /** Ids of the registers whose values are needed from here on. */
  public BitSet liveIn() {
    return liveIn;
  }

  public Terminator terminator() {
    return terminator;
  }

  public void end(Terminator how) {
    terminator = how;
  }

  public boolean ended() {
    return terminator != null;
  }

  /** Number by which a suspended thread comes back to this block, 0 if none does. */
  public int resumeId() {
    return resumeId;
  }

  public void resumeId(int number) {
    resumeId = number;
  }

  @Override
  public String toString() {
    return "B" + id;
  }
}
