// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.DeletePartitionRequest;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResizePartitionRequest;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.Role;
import io.gpupool.control.v1.SetQuotaRequest;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A day of an admin's and tenants' work, as a random sequence of operations one after the other.
 * What was acknowledged is remembered here; used by one thread.
 */
final class ScriptedDay {
  private static final long MIB = 1L << 20;
  private static final String[] TENANTS = {"blue", "red", "green"};

  private final Random random;
  private final Map<String, Lease> leases = new LinkedHashMap<>();
  private final Map<String, String> tokens = new TreeMap<>();
  private final List<StreamObserver<HoldRequest>> holds = new ArrayList<>();

  ScriptedDay(Random random) {
    this.random = random;
  }

  /**
   * One operation.
   *
   * @param mayChange which entries of the memory it may change
   * @param done what must hold once it was acknowledged
   */
  record Operation(
      String text, Predicate<String> mayChange, Predicate<PoolMemory> done, Call call) {}

  /** Before the first one. */
  static final Operation NOTHING =
      new Operation("nothing", entry -> false, memory -> true, clients -> true);

  /** The operation's call; true if it was granted. */
  interface Call {
    boolean run(Clients clients) throws Exception;
  }

  Map<String, Lease> leases() {
    return leases;
  }

  /** The texts of the tokens that were handed out and not revoked, by id. */
  Map<String, String> tokens() {
    return tokens;
  }

  Operation next() {
    String tenant = TENANTS[random.nextInt(TENANTS.length)];
    PartitionRef ref =
        PartitionRef.newBuilder()
            .setGpu(random.nextInt(2))
            .setName("p" + random.nextInt(3))
            .build();
    String partition = PoolMemory.partition(ref);
    PartitionSize size =
        PartitionSize.newBuilder()
            .setMemoryBytes((1 + random.nextInt(500)) * MIB)
            .setComputePercent(1 + random.nextInt(50))
            .build();
    boolean wait = random.nextBoolean();
    Set<String> tokensBefore = Set.copyOf(tokens.keySet());
    return switch (random.nextInt(11)) {
      case 0, 1 ->
          new Operation(
              "create " + partition,
              partition::equals,
              memory -> memory.entries().containsKey(partition),
              clients -> {
                clients
                    .admin()
                    .createPartition(
                        CreatePartitionRequest.newBuilder()
                            .setRef(ref)
                            .setSize(size)
                            .setHard(wait)
                            .build());
                return true;
              });
      case 2 ->
          new Operation(
              "resize " + partition,
              partition::equals,
              memory -> memory.entries().containsKey(partition),
              clients -> {
                clients
                    .admin()
                    .resizePartition(
                        ResizePartitionRequest.newBuilder()
                            .setRef(ref)
                            .setSize(size)
                            .setWait(wait)
                            .build());
                return true;
              });
      case 3 ->
          new Operation(
              "delete " + partition,
              partition::equals,
              memory -> wait || !memory.entries().containsKey(partition),
              clients -> {
                clients
                    .admin()
                    .deletePartition(
                        DeletePartitionRequest.newBuilder().setRef(ref).setWait(wait).build());
                return true;
              });
      case 4 ->
          new Operation(
              "create tenant " + tenant,
              ("tenant " + tenant)::equals,
              memory -> memory.entries().containsKey("tenant " + tenant),
              clients -> {
                clients
                    .admin()
                    .createTenant(
                        CreateTenantRequest.newBuilder().setName(tenant).setQuota(quota()).build());
                return true;
              });
      case 5 ->
          new Operation(
              "quota of " + tenant,
              ("tenant " + tenant)::equals,
              memory -> true,
              clients -> {
                clients
                    .admin()
                    .setQuota(
                        SetQuotaRequest.newBuilder().setName(tenant).setQuota(quota()).build());
                return true;
              });
      case 6 ->
          new Operation(
              "delete tenant " + tenant,
              entry -> entry.equals("tenant " + tenant) || entry.startsWith("token "),
              memory -> !memory.entries().containsKey("tenant " + tenant),
              clients -> {
                clients
                    .admin()
                    .deleteTenant(DeleteTenantRequest.newBuilder().setName(tenant).build());
                return true;
              });
      case 7 ->
          new Operation(
              "token of " + tenant,
              entry -> entry.startsWith("token ") && !tokensBefore.contains(entry.substring(6)),
              memory ->
                  // Older ones may have gone with their tenant since.
                  tokens.keySet().stream()
                      .filter(id -> !tokensBefore.contains(id))
                      .allMatch(id -> memory.entries().containsKey("token " + id)),
              clients -> {
                CreateTokenReply made =
                    clients
                        .admin()
                        .createToken(
                            CreateTokenRequest.newBuilder()
                                .setTenant(tenant)
                                .setRole(Role.ROLE_USER)
                                .build());
                tokens.put(made.getInfo().getId(), made.getToken());
                return true;
              });
      case 8 -> revoke();
      case 9 -> release();
      default -> request(ref.getName(), tenant);
    };
  }

  private Operation revoke() {
    String id = any(tokens.keySet()).orElse("000000000000");
    return new Operation(
        "revoke " + id,
        ("token " + id)::equals,
        memory -> !memory.entries().containsKey("token " + id),
        clients -> {
          clients.admin().revokeToken(RevokeTokenRequest.newBuilder().setId(id).build());
          tokens.remove(id);
          return true;
        });
  }

  private Operation release() {
    String id = any(leases.keySet()).orElse("L0");
    Lease lease = leases.getOrDefault(id, Lease.newBuilder().setId(id).setSecret("none").build());
    return new Operation(
        "release " + id,
        // A partition may have waited for it.
        entry -> entry.equals("lease " + id) || entry.startsWith("partition "),
        memory -> !memory.entries().containsKey("lease " + id),
        clients -> {
          clients
              .pool()
              .releaseLease(
                  ReleaseLeaseRequest.newBuilder()
                      .setLeaseId(id)
                      .setSecret(lease.getSecret())
                      .build());
          leases.remove(id);
          return true;
        });
  }

  private Operation request(String partition, String tenant) {
    LeaseRequest.Builder request =
        LeaseRequest.newBuilder()
            .setMemoryBytes((1 + random.nextInt(200)) * MIB)
            .setComputePercent(1 + random.nextInt(20));
    if (random.nextBoolean()) {
      request.setPartition(partition);
    }
    if (random.nextBoolean()) {
      request.setTenant(tenant);
    }
    Set<String> before = Set.copyOf(leases.keySet());
    return new Operation(
        "request",
        entry -> entry.startsWith("lease ") && !before.contains(entry.substring(6)),
        memory ->
            leases.keySet().stream().allMatch(id -> memory.entries().containsKey("lease " + id)),
        clients -> {
          CompletableFuture<LeaseEvent> answer = new CompletableFuture<>();
          clients.streams().requestLease(request.build(), new FirstEvent(answer));
          LeaseEvent event = join(answer);
          if (event.hasGranted()) {
            leases.put(event.getGranted().getId(), event.getGranted());
          }
          return event.hasGranted();
        });
  }

  /** Comes back to all leases, as their holders would. */
  void holdAgain(Clients clients) throws Exception {
    holds.clear();
    for (Lease lease : leases.values()) {
      CompletableFuture<LeaseEvent> answer = new CompletableFuture<>();
      StreamObserver<HoldRequest> hold = clients.streams().holdLease(new FirstEvent(answer));
      hold.onNext(
          HoldRequest.newBuilder().setLeaseId(lease.getId()).setSecret(lease.getSecret()).build());
      if (!join(answer).hasHeld()) {
        throw new AssertionError("lease " + lease.getId() + " cannot be held again");
      }
      holds.add(hold);
    }
  }

  /** Whether the server said no, rather than nothing. */
  static boolean isRefusal(StatusRuntimeException e) {
    return switch (e.getStatus().getCode()) {
      case INVALID_ARGUMENT,
          NOT_FOUND,
          ALREADY_EXISTS,
          FAILED_PRECONDITION,
          ABORTED,
          PERMISSION_DENIED,
          RESOURCE_EXHAUSTED ->
          true;
      default -> false;
    };
  }

  private static LeaseEvent join(CompletableFuture<LeaseEvent> answer) throws Exception {
    try {
      return answer.get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof StatusRuntimeException status ? status : e;
    }
  }

  private Quota quota() {
    return Quota.newBuilder().setLeases(1 + random.nextInt(6)).build();
  }

  private Optional<String> any(Set<String> ids) {
    return ids.isEmpty()
        ? Optional.empty()
        : Optional.of(List.copyOf(ids).get(random.nextInt(ids.size())));
  }

  /** Completes with the first event of a stream, or with its failure. */
  private record FirstEvent(CompletableFuture<LeaseEvent> answer)
      implements StreamObserver<LeaseEvent> {
    @Override
    public void onNext(LeaseEvent event) {
      answer.complete(event);
    }

    @Override
    public void onError(Throwable failure) {
      answer.completeExceptionally(failure);
    }

    @Override
    public void onCompleted() {
      answer.completeExceptionally(new AssertionError("the stream ended without an event"));
    }
  }
}
