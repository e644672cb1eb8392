// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs that faults befall at random bytes in both directions: each gives the results that it
 * gives without faults, and leaves nothing behind. {@code -Dgpupool.cuts=N} makes so many, {@code
 * -Dgpupool.cuts.seed=S} others.
 */
class ResumeIT {
  private static final int QUICK = 10;
  private static final int CUTS = Integer.getInteger("gpupool.cuts", QUICK);
  private static final long SEED = Long.getLong("gpupool.cuts.seed", 1);
  private static final int CUTS_A_RUN = 5;
  private static final int MOST_MILLIS = CUTS > QUICK ? 20_000 : 1500;

  /** Has neighbouring programs meet different faults. */
  private static final int STRIDE = 5;

  @TempDir static Path folder;
  private static final Map<Place, CutSite> sites = new ConcurrentHashMap<>();
  private static final Map<String, Expected> expected = new ConcurrentHashMap<>();
  private static final CutTally programs = new CutTally();
  private static final CutTally faults = new CutTally();

  /** The ways from a program to its GPUs. */
  private enum Place {
    RUN,
    AGENT,
    TLS,
    TWO_SERVERS
  }

  private record Situation(Place place, Fault fault) {}

  /** What a program says without faults, and over how many bytes. */
  private record Expected(String output, long bytes) {}

  private record Run(CutProgram program, Situation situation, long seed) {
    String name() {
      return program.name() + ", " + situation.place + ", " + situation.fault + ", seed " + seed;
    }
  }

  @BeforeAll
  static void forget() {
    sites.clear();
    expected.clear();
  }

  @AfterAll
  static void stop() {
    sites.values().forEach(CutSite::close);
    System.out.println(programs);
    System.out.println(faults);
  }

  @TestFactory
  Stream<DynamicTest> programs_withConnectionsThatBreak_giveTheirResults() {
    List<CutProgram> all = new ArrayList<>(CutProgram.ofOneServer());
    // Two more servers and an etcd take a while to start.
    if (CUTS > QUICK) {
      all.addAll(CutProgram.ofTwoServers());
    }
    // Some runs end before all of their faults have come, some before any has.
    Stream<DynamicTest> runs =
        IntStream.iterate(0, i -> faults.cuts() < CUTS && i < CUTS, i -> i + 1)
            .mapToObj(i -> {
              int turn = (int) SEED + i % all.size() * STRIDE + i / all.size();
              return run(all.get(i % all.size()), turn, SEED + i);
            })
            .map(run -> DynamicTest.dynamicTest(run.name(), () -> cutAndCompare(run)));
    return Stream.concat(
        runs,
        Stream.of(
            DynamicTest.dynamicTest(
                "as many faults came as were asked for",
                () -> assertThat(faults.cuts()).isGreaterThanOrEqualTo(CUTS))));
  }

  private static Run run(CutProgram program, int turn, long seed) {
    List<Situation> situations = situations(program.faults());
    return new Run(program, situations.get(turn % situations.size()), seed);
  }

  private static List<Situation> situations(Set<Fault> befalling) {
    List<Situation> all = new ArrayList<>();
    if (!befalling.equals(Fault.OF_A_NETWORK)) {
      befalling.forEach(fault -> all.add(new Situation(Place.TWO_SERVERS, fault)));
      return all;
    }
    for (Place place : List.of(Place.RUN, Place.TLS)) {
      befalling.forEach(fault -> all.add(new Situation(place, fault)));
    }
    all.add(new Situation(Place.TLS, Fault.AGENT_KILLED));
    all.add(new Situation(Place.AGENT, Fault.AGENT_KILLED));
    return all;
  }

  private static void cutAndCompare(Run run) {
    CutSite site = site(run.situation.place);
    Expected without = expected(run, site);
    Fault fault = run.situation.fault;
    CutPlan plan = CutPlan.random(run.seed, fault, CUTS_A_RUN, without.bytes, MOST_MILLIS);
    Program.Ended ended = site.run(run.program, plan);
    System.out.printf("%s: %d faults%n%s%n", run.name(), plan.done(), ended.errors());
    programs.add(run.program.name(), plan.done(), ended.errors());
    faults.add(run.situation.place + " " + fault, plan.done(), ended.errors());
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(results(ended)).isEqualTo(without.output);
    if (Fault.OF_SILENCE.contains(fault)) {
      site.awaitNothingLeft(CutSite.WINDOW.plus(Pool.IDLE));
    } else {
      site.awaitNothingLeft();
    }
  }

  private static Expected expected(Run run, CutSite site) {
    return expected.computeIfAbsent(
        run.program.name() + run.situation.place,
        name -> {
          CutPlan whole = CutPlan.none();
          Program.Ended ended = site.run(run.program, whole);
          assertThat(ended.status()).as(ended.toString()).isZero();
          site.awaitNothingLeft();
          return new Expected(results(ended), whole.relayed());
        });
  }

  /** What a program says, but for the times that it has measured. */
  private static String results(Program.Ended ended) {
    return ended.output().replaceAll("[0-9.]+ us", "some time");
  }

  private static CutSite site(Place place) {
    return sites.computeIfAbsent(
        place,
        missing -> {
          try {
            Path own = Files.createDirectory(folder.resolve(place.name()));
            CutSite made =
                switch (place) {
                  case RUN -> CutSite.ofOneServer();
                  case AGENT -> CutSite.withAgent(own);
                  case TLS -> CutSite.withTls(own);
                  case TWO_SERVERS -> CutSite.ofTwoServers(own);
                };
            System.out.println(
                place + ": " + (made.hasFirewall() ? "iptables drops" : "proxies lose") + " bytes");
            return made;
          } catch (RuntimeException e) {
            throw e;
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
  }
}
