// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The sandbox around this server's workers. The server finds out once, at its start, which layers
 * it can have. After that, owned by the control thread.
 */
public final class Sandbox {
  private final SandboxOptions options;
  private final List<String> plan;
  private final @Nullable WorkerUsers users;
  private final Map<SandboxLayer, String> missing;

  private Sandbox(
      SandboxOptions options,
      List<String> plan,
      @Nullable WorkerUsers users,
      Map<SandboxLayer, String> missing) {
    this.options = options;
    this.plan = plan;
    this.users = users;
    this.missing = missing;
  }

  /** None. */
  public static Sandbox none() {
    return new Sandbox(SandboxOptions.NONE, List.of(), null, Map.of());
  }

  /**
   * Finds out which layers can be had. Blocks.
   *
   * @throws IOException if one is missing and the operator insists on all
   */
  public static Sandbox open(SandboxOptions options, SandboxScope scope) throws IOException {
    if (options.mode() == SandboxMode.OFF) {
      return none();
    }
    List<String> plan = plan(options, scope);
    Map<SandboxLayer, String> missing = new EnumMap<>(SandboxLayer.class);
    boolean ownUsers = mayHaveOwnUsers(scope, missing);
    List<String> tried = new ArrayList<>(plan);
    tried.add("network own");
    if (ownUsers) {
      tried.add("uid " + options.users().first());
    }
    SandboxCheck.run(options.launcher(), tried).forEach(missing::putIfAbsent);
    if (options.mode() == SandboxMode.REQUIRED
        && missing.keySet().stream().anyMatch(w -> w.alone)) {
      throw new IOException(
          "--sandbox required: this server cannot confine its workers: "
              + list(missing, true)
              + "; see docs/design/worker-sandbox.md, or give --sandbox best-effort");
    }
    if (!missing.containsKey(SandboxLayer.NETWORK_NAMESPACE) && scope.soft()) {
      plan.add("network own");
    }
    if (missing.containsKey(SandboxLayer.CALLS)) {
      plan.add("calls no");
    }
    if (options.mode() == SandboxMode.REQUIRED) {
      plan.add("strict yes");
    }
    boolean hasUsers = ownUsers && !missing.containsKey(SandboxLayer.USER);
    return new Sandbox(
        options,
        List.copyOf(plan),
        hasUsers ? new WorkerUsers(options.users(), new SecureRandom()) : null,
        missing);
  }

  private static List<String> plan(SandboxOptions options, SandboxScope scope) throws IOException {
    List<String> plan = new ArrayList<>(ReachablePaths.ofSoftware(options.software()));
    if (!scope.soft()) {
      plan.addAll(
          ReachablePaths.ofDriver(scope.libraries(), scope.libraryPath(), scope.services()));
    }
    String driver = scope.collectives() ? "nccl" : "nvidia";
    plan.add("filter " + (scope.soft() ? "soft" : driver));
    plan.add("oom " + OomScore.ofWorker());
    return plan;
  }

  /** Whether the server may try; a server that is not root has nothing to miss. */
  private static boolean mayHaveOwnUsers(SandboxScope scope, Map<SandboxLayer, String> missing)
      throws IOException {
    ServerPrivileges privileges = ServerPrivileges.own();
    if (!privileges.root()) {
      return false;
    }
    if (!scope.services().isEmpty()) {
      missing.put(SandboxLayer.USER, "MPS serves one user at a time");
      return false;
    }
    List<String> lacking = privileges.missingForOtherUsers();
    if (!lacking.isEmpty()) {
      missing.put(SandboxLayer.USER, "the server lacks " + String.join(", ", lacking));
    }
    return lacking.isEmpty();
  }

  /** Returns whether workers are not confined at all. */
  public boolean isOff() {
    return options.mode() == SandboxMode.OFF;
  }

  /** What the server says of its workers at its start. */
  public String describe() {
    if (options.mode() == SandboxMode.OFF) {
      return "workers are not confined (--sandbox off): a worker that is broken into is the server";
    }
    String confined =
        "workers are confined: "
            + (users != null
                ? "users " + options.users().first() + "-" + options.users().last()
                : "the server's user");
    return missing.isEmpty() ? confined : confined + "; missing: " + list(missing, false);
  }

  /** Whether something is missing that an operator should know of. */
  public boolean isComplete() {
    return options.mode() != SandboxMode.OFF && missing.keySet().stream().noneMatch(w -> w.alone);
  }

  private static String list(Map<SandboxLayer, String> missing, boolean aloneOnly) {
    return missing.entrySet().stream()
        .filter(entry -> entry.getKey().alone || !aloneOnly)
        .map(entry -> entry.getKey() + " (" + entry.getValue() + "): " + entry.getKey().consequence)
        .collect(Collectors.joining("; "));
  }

  /** Takes a user id for one worker; empty where workers are the server's user. */
  public Optional<Long> takeUser() {
    return Optional.ofNullable(users).map(WorkerUsers::take);
  }

  /**
   * Takes the user id of a worker that the server's former process has started; null: it has none.
   */
  public void takeAgain(@Nullable Long user) {
    if (user != null && users != null) {
      users.takeAgain(user);
    }
  }

  /** Gives back the user id of a worker whose process is dead; null: it had none. */
  public void giveBack(@Nullable Long user) {
    if (user != null && users != null) {
      users.giveBack(user);
    }
  }

  /**
   * Returns the environment of one worker, which carries the launcher's plan. For any thread.
   *
   * @param control the server's socket for workers
   * @param listen the socket on which it listens for the server's next process; null: on none
   */
  public Map<String, String> environment(
      String control, @Nullable Long user, @Nullable String listen) {
    if (isOff()) {
      return Map.of();
    }
    List<String> lines = new ArrayList<>(plan);
    lines.add("control " + control);
    if (listen != null) {
      lines.add("listen " + listen);
    }
    if (user != null) {
      lines.add("uid " + user);
    }
    return Map.of(SandboxCheck.PLAN, String.join("\n", lines));
  }
}
