// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.json.JsonForm;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.call.Handler;
import io.gpupool.rest.http.ConcurrencyLimiter;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.gpupool.server.identity.UserInfo;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A tracker of lease requests by callers that do not stay connected. It remembers them for a day,
 * so that a repeated request gets the same result. For any thread.
 */
public final class LeaseRequestTracker {
  private static final String JSON = "application/json";
  private static final long DEFAULT_GRACE_MILLIS = 60_000;
  private static final long KEPT_NANOS = TimeUnit.HOURS.toNanos(24);
  private static final int MAX_KEPT = 10_000;
  private static final int MAX_WAITING = 16_384;
  private static final Pattern WAIT = Pattern.compile("(?:^|[,; ])wait=(\\d{1,3})(?:$|[,; ])");
  private static final int MAX_WAIT_SECONDS = 60;

  /** Requests that keep a connection while they wait. */
  private final ConcurrencyLimiter waits =
      new ConcurrencyLimiter("requests that wait", 256, 64, 32, 64);

  private final Map<String, TrackedLeaseRequest> requests = new LinkedHashMap<>();

  Response ask(Call call) throws ProblemException {
    if (call.body().has("fraction") && call.body().has("memoryBytes")) {
      throw new ProblemException(400, "both fraction and memoryBytes say how large; give one");
    }
    LeaseRequest.Builder request = call.into(LeaseRequest.newBuilder());
    String key = call.headers().of("Idempotency-Key").stream().findFirst().orElse(null);
    if (key == null && request.getWaitMillis() > 0) {
      throw new ProblemException(
          400,
          "a request that may wait needs an Idempotency-Key: the same request with the same key"
              + " gets its outcome");
    }
    if (request.getGraceMillis() == 0) {
      request.setGraceMillis(DEFAULT_GRACE_MILLIS);
    }
    IdempotencyKey known = IdempotencyKey.of(call.token(), key, request.build());
    TrackedLeaseRequest ask =
        key != null ? remembered(known, call, request) : asked(known, call, request);
    Optional<Lease> lease = await(ask, call);
    return lease.isPresent() ? granted(lease.get(), request.getGraceMillis()) : queued(ask);
  }

  /** As long as the caller prefers, unless it waits so in many requests already. */
  private Optional<Lease> await(TrackedLeaseRequest ask, Call call) throws ProblemException {
    long millis = patienceMillis(call);
    UserInfo caller = call.caller();
    if (millis == 0 || waits.take(caller).isPresent()) {
      return ask.await(0);
    }
    try {
      return ask.await(millis);
    } finally {
      waits.give(caller);
    }
  }

  /** Renews a lease: it is as if its holder had been there just now. */
  Response renew(Call call) throws ProblemException {
    Resource lease = new CollectionReader(Kind.leases).find(call);
    LeaseEvent ignored =
        call.ask(
            PoolGrpc.getHoldLeaseMethod(), HoldRequest.newBuilder().setLeaseId(lease.id()).build());
    return Response.json(200, JSON, lease.json(), lease.tag().headers());
  }

  private TrackedLeaseRequest remembered(
      IdempotencyKey known, Call call, LeaseRequest.Builder request) throws ProblemException {
    synchronized (requests) {
      TrackedLeaseRequest before = requests.get(known.id());
      if (before != null && (before.isWaiting() || before.isGranted())) {
        if (!before.body.equals(known.body())) {
          throw new ProblemException(
              422, "another request was made with this Idempotency-Key; take a new key");
        }
        return before;
      }
      forget();
      TrackedLeaseRequest ask = asked(known, call, request);
      requests.put(known.id(), ask);
      return ask;
    }
  }

  private static TrackedLeaseRequest asked(
      IdempotencyKey known, Call call, LeaseRequest.Builder request) {
    TrackedLeaseRequest ask = new TrackedLeaseRequest(known.body());
    ask.start(
        call.pool()
            .calls()
            .call(
                PoolGrpc.getRequestLeaseMethod(),
                call.token(),
                // The pool may know it from before a restart of this server.
                request.setRequestId(known.id()).setResumed(true).build(),
                ask::onEvent));
    return ask;
  }

  /** Forgets requests that are old, have come to nothing, or are too many. */
  @GuardedBy("requests")
  private void forget() throws ProblemException {
    long now = System.nanoTime();
    int waiting = 0;
    for (Iterator<TrackedLeaseRequest> all = requests.values().iterator(); all.hasNext(); ) {
      TrackedLeaseRequest ask = all.next();
      if (ask.isWaiting()) {
        waiting++;
      } else if (!ask.isGranted()
          || now - ask.sinceNanos > KEPT_NANOS
          || requests.size() >= MAX_KEPT) {
        all.remove();
      }
    }
    if (waiting >= MAX_WAITING) {
      throw new ProblemException(503, waiting + " requests wait already; ask later");
    }
  }

  /** How long the caller would rather wait than ask again (Prefer: wait=SECONDS). */
  private static long patienceMillis(Call call) {
    Matcher wait = WAIT.matcher(String.join(",", call.headers().of("Prefer")));
    return wait.find()
        ? TimeUnit.SECONDS.toMillis(Math.min(MAX_WAIT_SECONDS, Integer.parseInt(wait.group(1))))
        : 0;
  }

  private static Response granted(Lease lease, long graceMillis) {
    JsonObject json = new JsonObject();
    json.addProperty("id", lease.getId());
    json.addProperty("ticket", lease.getId() + "." + lease.getSecret());
    JsonArray grants = new JsonArray();
    lease.getGrantsList().forEach(grant -> grants.add(JsonForm.of(grant)));
    json.add("grants", grants);
    json.addProperty("graceMillis", graceMillis);
    return Response.json(
        201,
        JSON,
        json,
        Map.of(
            "Location",
            Response.path(Kind.leases.name(), lease.getId()),
            "Cache-Control",
            "no-store"));
  }

  private static Response queued(TrackedLeaseRequest ask) {
    return Response.json(
        202,
        JSON,
        JsonForm.of(ask.queued()),
        Map.of("Retry-After", "2", "Cache-Control", "no-store"));
  }

  public Map<String, Handler> byId() {
    return Map.of("create_leases", this::ask, "renew_leases", this::renew);
  }
}
