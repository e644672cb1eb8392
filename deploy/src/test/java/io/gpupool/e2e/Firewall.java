// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A firewall on the loopback device that drops packets between programs, {@link CutProxy proxies}
 * and servers without a word, in one direction or in both. Packets from 127.0.0.1 to 127.0.0.1
 * pass: a test goes on to see its pool.
 */
final class Firewall implements AutoCloseable {
  private static final String SERVER = "127.0.0.1";
  private static final AtomicInteger made = new AtomicInteger();

  private final SystemTool iptables;
  private final String name = ProcessHandle.current().pid() + "-" + made.incrementAndGet();
  private final String toServers = "gpupool-to-" + name;
  private final String fromServers = "gpupool-from-" + name;

  private Firewall(SystemTool iptables) {
    this.iptables = iptables;
  }

  /** Makes one in front of servers' ports; empty where this process may not. */
  static Optional<Firewall> make(List<Integer> ports) {
    return SystemTool.find("iptables").map(Firewall::new).filter(made -> made.prepare(ports));
  }

  private boolean prepare(List<Integer> ports) {
    String list = ports.stream().map(String::valueOf).collect(Collectors.joining(","));
    if (!isDone("-N", toServers)) {
      return false;
    }
    // Its rules would outlive a test that is interrupted.
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "firewall"));
    String[] to = {"-p", "tcp", "-m", "multiport", "--dports", list};
    String[] from = {"-p", "tcp", "-m", "multiport", "--sports", list};
    return isDone("-N", fromServers)
        // From a client to a proxy, and from a proxy to a server.
        && drop(toServers, to, "-d", CutProxy.HOST)
        && drop(toServers, to, "!", "-s", SERVER)
        && drop(fromServers, from, "-s", CutProxy.HOST)
        && drop(fromServers, from, "!", "-d", SERVER);
  }

  private boolean drop(String chain, String[] ports, String... which) {
    List<String> rule = new ArrayList<>(List.of("-A", chain));
    rule.addAll(List.of(ports));
    rule.addAll(List.of(which));
    rule.addAll(List.of("-j", "DROP"));
    return isDone(rule.toArray(String[]::new));
  }

  /** From now on packets get lost. */
  void close(boolean toServer, boolean fromServer) {
    if (toServer) {
      change("-I", toServers);
    }
    if (fromServer) {
      change("-I", fromServers);
    }
  }

  /** From now on packets arrive again. */
  void open(boolean toServer, boolean fromServer) {
    if (toServer) {
      change("-D", toServers);
    }
    if (fromServer) {
      change("-D", fromServers);
    }
  }

  private void change(String how, String chain) {
    if (!isDone(how, "INPUT", "-i", "lo", "-j", chain)) {
      throw new AssertionError("the firewall cannot be changed");
    }
  }

  private boolean isDone(String... arguments) {
    return iptables.isDone(
        Stream.concat(Stream.of("-w"), Stream.of(arguments)).toArray(String[]::new));
  }

  /** Removes all that it has made. */
  @Override
  public void close() {
    for (String chain : List.of(toServers, fromServers)) {
      boolean ignored =
          isDone("-D", "INPUT", "-i", "lo", "-j", chain)
              | isDone("-F", chain)
              | isDone("-X", chain);
    }
  }
}
