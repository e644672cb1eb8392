// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Control-flow graph of a kernel with its device functions inlined. */
public final class Graph {
  private static final int MAX_OPS = 400_000;

  private final List<VReg> registers = new ArrayList<>();
  private final BasicBlock entry;
  private List<BasicBlock> order = new ArrayList<>();
  private int blocks;
  private int opCount;
  private int localBytes;
  private int paramBytes;
  private int passedBytes;
  private int frameBytes;
  private final List<BasicBlock> routines = new ArrayList<>();

  public Graph() {
    entry = newBlock();
  }

  public BasicBlock entry() {
    return entry;
  }

  public List<VReg> registers() {
    return registers;
  }

  /** Blocks in reverse postorder; valid after {@link #arrange()}. */
  public List<BasicBlock> order() {
    return order;
  }

  /** Local memory a thread. */
  public int localBytes() {
    return localBytes;
  }

  public void needLocal(int bytes) {
    localBytes = Math.max(localBytes, bytes);
  }

  /** Length of the kernel's parameter block. */
  public int paramBytes() {
    return paramBytes;
  }

  public void paramBytes(int bytes) {
    paramBytes = bytes;
  }

  /** First blocks of the functions that are not inlined. */
  public List<BasicBlock> routines() {
    return routines;
  }

  public boolean hasCalls() {
    return !routines.isEmpty();
  }

  public void addRoutine(BasicBlock first) {
    routines.add(first);
  }

  /** Frames have room for what functions of this layout pass and return. */
  public void needPassed(FrameLayout layout) {
    passedBytes = Math.max(passedBytes, layout.bytes());
  }

  /** Bytes of a frame that hold parameters and results, behind the registers. */
  public int passedBytes() {
    return passedBytes;
  }

  /** Bytes of a frame that hold registers; what a function is passed lies behind them. */
  public int registerBytes() {
    return frameBytes;
  }

  public void registerBytes(int bytes) {
    frameBytes = bytes;
  }

  /** Bytes of the frame of one activation. */
  public int frameBytes() {
    return frameBytes + passedBytes;
  }

  public int opCount() {
    return opCount;
  }

  public BasicBlock newBlock() {
    return new BasicBlock(blocks++);
  }

  public VReg newRegister(String name, Type type) {
    VReg register = new VReg(registers.size(), name, type);
    registers.add(register);
    return register;
  }

  /** Moves the operations from an index on, and the terminator, to a new block behind. */
  public BasicBlock split(BasicBlock block, int index) {
    BasicBlock rest = newBlock();
    List<Op> moved = block.ops().subList(index, block.ops().size());
    rest.ops().addAll(moved);
    moved.clear();
    rest.end(block.terminator());
    block.end(new Terminator.Goto(rest));
    return rest;
  }

  public void append(BasicBlock block, Op op) {
    if (++opCount > MAX_OPS) {
      throw new RefusedException("more than " + MAX_OPS + " instructions after inlining");
    }
    block.ops().add(op);
  }

  /** Finds the reachable blocks, orders them, and links predecessors. */
  public void arrange() {
    order = new ArrayList<>();
    Set<BasicBlock> seen = new HashSet<>();
    arrangeFrom(entry, seen);
    routines.forEach(first -> arrangeFrom(first, seen));
    order.forEach(block -> block.predecessors().clear());
    for (BasicBlock block : order) {
      block.terminator().successors().forEach(successor -> successor.predecessors().add(block));
    }
  }

  private void arrangeFrom(BasicBlock root, Set<BasicBlock> seen) {
    List<BasicBlock> postorder = new ArrayList<>();
    List<BasicBlock> stack = new ArrayList<>();
    List<Integer> next = new ArrayList<>();
    stack.add(root);
    next.add(0);
    seen.add(root);
    while (!stack.isEmpty()) {
      int top = stack.size() - 1;
      BasicBlock block = stack.get(top);
      List<BasicBlock> successors = block.terminator().successors();
      // Last successor first, so that the first one comes right behind its block.
      int index = successors.size() - 1 - next.get(top);
      if (index < 0) {
        postorder.add(block);
        stack.remove(top);
        next.remove(top);
        continue;
      }
      next.set(top, next.get(top) + 1);
      BasicBlock successor = successors.get(index);
      if (seen.add(successor)) {
        stack.add(successor);
        next.add(0);
      }
    }
    order.addAll(postorder.reversed());
  }
}
