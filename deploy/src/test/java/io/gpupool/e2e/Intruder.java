// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.sandbox.SandboxMode;
import io.gpupool.server.sandbox.SandboxOptions;
import io.gpupool.server.sandbox.SandboxScope;
import io.gpupool.server.sandbox.UserRange;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The fixture {@code intruder} inside the sandbox that a server puts around a worker on software
 * GPUs, started by this process as the server would. Owned by the test's thread.
 */
final class Intruder {
  private static final Path LAUNCHER = Distribution.HOME.resolve("lib/gpupool-sandbox");
  private static final Path PROGRAM = CPrograms.fixture("intruder");

  private final List<String> asUser;
  private final @Nullable Long user;
  private final Sandbox sandbox;

  private Intruder(List<String> asUser, @Nullable Long user, Sandbox sandbox) {
    this.asUser = asUser;
    this.user = user;
    this.sandbox = sandbox;
  }

  /** Of a server that is this process. */
  static Intruder ofThisUser() throws IOException {
    Sandbox sandbox =
        Sandbox.open(
            new SandboxOptions(
                SandboxMode.REQUIRED,
                LAUNCHER,
                Distribution.HOME.resolve("lib"),
                UserRange.DEFAULT,
                List.of()),
            new SandboxScope(true, List.of(), null, false, List.of()));
    return new Intruder(List.of(), sandbox.takeUser().orElse(null), sandbox);
  }

  /** Returns an intruder in the same sandbox as an ordinary user's server starts it. */
  static Intruder ofOrdinaryUser(int user) throws IOException {
    List<String> as =
        List.of("setpriv", "--reuid", "" + user, "--regid", "" + user, "--clear-groups");
    return new Intruder(as, null, ofThisUser().sandbox);
  }

  /** Returns the user id of the intruder, where the server gives it one. */
  Optional<Long> user() {
    return Optional.ofNullable(user);
  }

  /**
   * Another process of the same user as its server: a worker without a user of its own shares it.
   */
  Program neighbour() {
    List<String> command = new ArrayList<>(asUser);
    command.addAll(List.of("sleep", "600"));
    return Program.of(command).start();
  }

  /** Makes an attempt with all layers up; returns an error number, or 128 and more for a signal. */
  int tries(String... attempt) {
    List<String> all = new ArrayList<>(List.of("--filter"));
    all.addAll(Arrays.asList(attempt));
    return outcome(run(all));
  }

  /** The same before the filter of system calls is up, so that the other layers stand alone. */
  int triesWithoutFilter(String... attempt) {
    return outcome(run(Arrays.asList(attempt)));
  }

  private static int outcome(Program.Ended ended) {
    if (ended.status() != 0) {
      return ended.status();
    }
    String[] words = ended.output().strip().split(" ");
    return Integer.parseInt(words[words.length - 1]);
  }

  private Program.Ended run(List<String> arguments) {
    Map<String, String> plan = new TreeMap<>(sandbox.environment(null, user, null));
    plan.replaceAll((name, text) ->
        text.lines().filter(line -> !line.startsWith("control ")).reduce("", (a, b) -> a + b + "\n")
            + "exec "
            + PROGRAM);
    List<String> command = new ArrayList<>(asUser);
    command.add(LAUNCHER.toString());
    command.add(PROGRAM.toString());
    command.addAll(arguments);
    Program.Builder builder = Program.of(command);
    plan.forEach(builder::with);
    return builder.run();
  }
}
