// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.placement;

import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Places a request for several GPUs on one server, since a program's calls go to one worker, which
 * has the GPUs of its server alone. A pure function, as {@link Placement} is.
 */
public final class OneServer {
  private OneServer() {}

  public static Outcome place(Ask ask, String tenant, List<Offer> snapshot) {
    Outcome anywhere = Placement.place(ask, tenant, snapshot);
    if (ask.gpus() == 1
        || anywhere instanceof Outcome.Impossible
        || anywhere instanceof Outcome.Placed placed && servers(placed.parts()) == 1) {
      return anywhere;
    }
    List<Outcome> outcomes =
        byServer(snapshot).stream().map(offers -> Placement.place(ask, tenant, offers)).toList();
    return first(outcomes, Outcome.Placed.class, first(outcomes, Outcome.Full.class, never(ask)));
  }

  private static Outcome never(Ask ask) {
    return new Outcome.Impossible(
        "no server has "
            + ask.gpus()
            + " GPUs that can serve it, and a lease's GPUs are all of one server");
  }

  private static Outcome first(
      List<Outcome> outcomes, Class<? extends Outcome> kind, Outcome otherwise) {
    return outcomes.stream().filter(kind::isInstance).findFirst().orElse(otherwise);
  }

  private static long servers(List<Part> parts) {
    return parts.stream().map(part -> part.gpu().server()).distinct().count();
  }

  private static Collection<List<Offer>> byServer(List<Offer> snapshot) {
    Map<String, List<Offer>> servers = new LinkedHashMap<>();
    snapshot.forEach(offer ->
        servers.computeIfAbsent(offer.gpu().server(), name -> new ArrayList<>()).add(offer));
    return servers.values();
  }
}
