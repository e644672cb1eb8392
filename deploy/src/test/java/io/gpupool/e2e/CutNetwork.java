// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A network of this machine and one further host, each of which is in a network namespace, with a
 * router between them that can drop all packets without a word.
 */
final class CutNetwork implements AutoCloseable {
  private static final String HOST_DEVICE = "gpn-host";
  private static final String TO_HOST = "to-host";
  private static final String TO_CLIENT = "to-client";
  private static final String TO_ROUTER = "to-router";
  private static final Pattern NAMESPACE = Pattern.compile("gpn-(?:client|router)-(\\d{1,10})");

  private final SystemTool ip;
  private final String client = "gpn-client-" + ProcessHandle.current().pid();
  private final String router = "gpn-router-" + ProcessHandle.current().pid();

  private CutNetwork(SystemTool ip) {
    this.ip = ip;
  }

  /** Makes the network; empty where this process may not, or the machine has no {@code ip}. */
  static Optional<CutNetwork> make() {
    return SystemTool.find("ip").map(CutNetwork::new).filter(CutNetwork::connect);
  }

  /** The address of this machine on the network. */
  String host() {
    return "10.213.77.1";
  }

  /** A program of the other host. */
  Program.Builder program(Object... command) {
    List<String> line = new ArrayList<>(List.of(ip.path(), "netns", "exec", client));
    for (Object word : command) {
      line.add(word.toString());
    }
    return Program.of(line);
  }

  /** From now on packets get lost, in both directions. */
  void cut() {
    forward("0");
  }

  /** From now on packets arrive again. */
  void heal() {
    forward("1");
  }

  private void forward(String value) {
    if (!isDone(
        "netns",
        "exec",
        router,
        "sh",
        "-c",
        "echo " + value + " > /proc/sys/net/ipv4/ip_forward")) {
      throw new AssertionError("the router cannot be switched");
    }
  }

  private boolean connect() {
    removeLeftovers();
    if (!isDone("netns", "add", router)) {
      return false;
    }
    boolean connected =
        isDone("netns", "add", client)
            && isDone(link(HOST_DEVICE, TO_HOST))
            && isDone(inClient(link(TO_ROUTER, TO_CLIENT)))
            && isDone("address", "add", "10.213.77.1/30", "dev", HOST_DEVICE)
            && isDone("-n", router, "address", "add", "10.213.77.2/30", "dev", TO_HOST)
            && isDone("-n", router, "address", "add", "10.213.77.6/30", "dev", TO_CLIENT)
            && isDone("-n", client, "address", "add", "10.213.77.5/30", "dev", TO_ROUTER)
            && isDone("link", "set", HOST_DEVICE, "up")
            && isDone("-n", router, "link", "set", TO_HOST, "up")
            && isDone("-n", router, "link", "set", TO_CLIENT, "up")
            && isDone("-n", client, "link", "set", TO_ROUTER, "up")
            && isDone("-n", client, "link", "set", "lo", "up")
            && isDone("route", "add", "10.213.77.4/30", "via", "10.213.77.2")
            && isDone("-n", client, "route", "add", "default", "via", "10.213.77.6");
    if (!connected) {
      close();
      throw new AssertionError("the namespace was made, and the network in it was not");
    }
    heal();
    return true;
  }

  /** Removes the networks of test runs that were killed, which have this one's addresses. */
  private void removeLeftovers() {
    String[] names = Objects.requireNonNullElse(new File("/run/netns").list(), new String[0]);
    for (String name : names) {
      Matcher leftover = NAMESPACE.matcher(name);
      if (leftover.matches()
          && ProcessHandle.of(Long.parseLong(leftover.group(1))).isEmpty()
          && !isDone("netns", "delete", name)) {
        System.err.println("a network namespace is left over: " + name);
      }
    }
  }

  /** A cable with one end here and one in the router. */
  private String[] link(String here, String there) {
    return new String[] {
      "link", "add", "name", here, "type", "veth", "peer", "name", there, "netns", router
    };
  }

  private String[] inClient(String[] arguments) {
    return Stream.concat(Stream.of("-n", client), Stream.of(arguments)).toArray(String[]::new);
  }

  private boolean isDone(String... arguments) {
    return ip.isDone(arguments);
  }

  /** Removes the namespaces, and with them the links. */
  @Override
  public void close() {
    boolean clean = isDone("netns", "delete", client) & isDone("netns", "delete", router);
    if (!clean) {
      System.err.println("a network namespace is left over: " + client + ", " + router);
    }
  }
}
