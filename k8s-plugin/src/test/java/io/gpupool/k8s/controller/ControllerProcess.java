// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A controller in a process of its own, so that its memory can be measured. Each line that it reads
 * it answers with how it stands.
 */
final class ControllerProcess implements AutoCloseable {
  private final Process process;
  private final BlockingQueue<String> told = new LinkedBlockingQueue<>();

  /** Starts one. */
  ControllerProcess(String apiServer, List<Integer> poolPorts) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-XX:+UseSerialGC",
                "-Xmx1g",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                ControllerProcess.class.getName(),
                apiServer));
    poolPorts.forEach(port -> command.add(Integer.toString(port)));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    Thread.ofPlatform()
        .daemon()
        .start(() ->
            process
                .inputReader()
                .lines()
                .filter(line -> line.startsWith("ControllerStats"))
                .forEach(told::add));
  }

  /** How it stands now. */
  String ask() throws IOException, InterruptedException {
    process.outputWriter().write("\n");
    process.outputWriter().flush();
    return told.take();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  public static void main(String[] arguments) throws IOException {
    AtomicInteger next = new AtomicInteger();
    KubernetesClient client =
        new KubernetesClientBuilder()
            .withConfig(new ConfigBuilder().withMasterUrl(arguments[0]).build())
            .build();
    try (LeaseController controller =
        LeaseController.start(
            client,
            () -> {
              int pool = 1 + next.getAndIncrement() % (arguments.length - 1);
              return connect(Integer.parseInt(arguments[pool]));
            },
            TestPool.KEY,
            ControllerOptions.of("scale"))) {
      while (System.in.read() >= 0) {
        System.gc();
        System.out.println(
            controller.figures().orElseThrow()
                + ", heap "
                + (ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() >> 20)
                + " MiB, resident "
                + resident()
                + ", processor time "
                + ProcessHandle.current().info().totalCpuDuration().orElseThrow()
                + ", threads "
                + ManagementFactory.getThreadMXBean().getThreadCount());
      }
    }
  }

  private static ManagedChannel connect(int port) {
    return NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
  }

  private static String resident() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:") || line.startsWith("VmHWM:"))
        .map(line -> line.replaceAll("\\s+", " "))
        .toList()
        .toString();
  }
}
