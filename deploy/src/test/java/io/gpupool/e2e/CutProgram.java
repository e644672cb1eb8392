// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A program whose connections break, and whose results do not depend on that.
 *
 * @param share options of {@code gpupool run}
 * @param command null: the example of this name, compiled with nvcc
 * @param faults those that befall it
 */
record CutProgram(
    String name, List<String> share, @Nullable List<Object> command, Set<Fault> faults) {
  private static final List<String> ONE_GPU = List.of("-m", "768Mi");
  private static final List<String> ALL_GPUS = List.of("-n", "2");

  /** The programs on one server. */
  static List<CutProgram> ofOneServer() {
    List<CutProgram> all = new ArrayList<>();
    if (CudaPrograms.canBeMade()) {
      for (String name :
          List.of(
              "managed_file",
              "graph_random",
              "events",
              "host_functions",
              "ipc_memory",
              "ipc_events",
              "mapped_memory",
              "stream_pipeline",
              "neural_network")) {
        all.add(new CutProgram(name, ONE_GPU, null, Fault.OF_A_NETWORK));
      }
    }
    all.add(driver("resumed", CPrograms.fixture("resumed"), "6"));
    if (CudaPrograms.canBeMade()) {
      // It takes too long for the few runs of a build.
      all.add(new CutProgram("copy_sizes", ONE_GPU, null, Fault.OF_A_NETWORK));
    }
    all.add(driver("threads", CPrograms.example("threads"), "40"));
    all.add(driver("ordering", CPrograms.example("ordering"), "2000"));
    return all;
  }

  /** The programs on two servers, whose connections to each other do not break. */
  static List<CutProgram> ofTwoServers() {
    return CudaPrograms.canBeMade()
        ? List.of(
            new CutProgram("far_copies", ALL_GPUS, null, Fault.OF_A_CONNECTION),
            new CutProgram("several_gpus", ALL_GPUS, null, Fault.OF_A_CONNECTION))
        : List.of();
  }

  private static CutProgram driver(String name, Object program, String argument) {
    List<Object> command = List.of(program, Distribution.KERNELS, argument);
    return new CutProgram(name, ONE_GPU, command, Fault.OF_A_NETWORK);
  }

  /** The command line, whose program is compiled by then. */
  List<Object> line() {
    return command == null ? List.of(CudaPrograms.make(name)) : command;
  }
}
