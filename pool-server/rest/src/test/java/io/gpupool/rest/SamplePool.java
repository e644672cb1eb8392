// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.protobuf.Message;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.LeaseLabel;
import io.gpupool.server.history.LeaseSample;
import io.gpupool.server.history.Sample;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.UserInfo;
import io.gpupool.server.inprocess.PoolStub;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.MetricSample;
import io.gpupool.server.view.PoolReader;
import io.gpupool.server.view.PoolSnapshot;
import io.gpupool.transport.metrics.ProcessMeters;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A pool that holds what a test has put there, for who knows its token. */
public final class SamplePool implements PoolReader, PoolStub {
  public static final String TOKEN = "gpupool_sample";
  static final String USER_TOKEN = "gpupool_user";
  static final String READER_TOKEN = "gpupool_reader";
  private static final Map<String, Role> ROLES =
      Map.of(TOKEN, Role.ADMIN, USER_TOKEN, Role.USER, READER_TOKEN, Role.READ_ONLY);
  private static final Holder HOLDER =
      Holder.newBuilder().setHost("pc").setPid(7).setProgram("train").setUser("ada").build();

  public final ProcessMeters meters = new ProcessMeters("gpupool-test", null);
  public volatile PoolSnapshot snapshot;
  volatile Optional<String> trouble = Optional.empty();
  volatile boolean isStuck;
  public volatile boolean needsTokens = true;

  /** What the control plane answers; each call is a fault unless a test says otherwise. */
  public volatile Function<Object, Message> plane =
      request -> {
        throw Status.INTERNAL
            .withDescription("no call is expected: " + request)
            .asRuntimeException();
      };

  public SamplePool(int leases) {
    snapshot =
        new PoolSnapshot(
            "gpu-1",
            new PoolSnapshot.Resources(
                List.of(
                    ServerInfo.newBuilder()
                        .setName("gpu-1")
                        .setAddress("gpu-1:7642")
                        .setVersion("0.1.0")
                        .setGpus(2)
                        .setUpMillis(90_000)
                        .setBackend("soft")
                        .setState(ServerInfo.State.STATE_READY)
                        .build()),
                IntStream.range(0, 2).mapToObj(SamplePool::gpu).toList(),
                List.of(partition(17))),
            new PoolSnapshot.Workload(
                IntStream.rangeClosed(1, leases).mapToObj(SamplePool::lease).toList(),
                List.of(
                    QueueInfo.newBuilder()
                        .setId("Q3")
                        .setPosition(1)
                        .setPriority(-2)
                        .setHolder(HOLDER)
                        .setTenant("vision")
                        .setWanted("1 GPU at 0.5")
                        .setReason(
                            RejectionReason.newBuilder()
                                .setNotRecorded(
                                    RejectionReason.NotRecorded.newBuilder().setProblem("no room")))
                        .setWaitedMillis(2500)
                        .setGpus(0.5)
                        .setModel("none there is")
                        .build()),
                Set.of("Q3"),
                List.of(
                    SessionInfo.newBuilder()
                        .setId("00112233445566778899aabbccddeeff")
                        .setLeaseId("L1")
                        .setState(SessionInfo.State.STATE_ATTACHED)
                        .setClient(HOLDER)
                        .setServer("gpu-1")
                        .addUsedMemoryBytes(1L << 33)
                        .setCallsPerSecond(Double.NaN)
                        .build())),
            List.of(
                TenantInfo.newBuilder()
                    .setName("vision")
                    .setQuota(Quota.newBuilder().setGpus(2.5).setMemoryBytes(1L << 35).setLeases(4))
                    .setRevision(3)
                    .build()),
            counts());
  }

  /** A port that answers with this pool, in clear text. */
  public RestServer serve(InetSocketAddress address) throws IOException {
    return RestServer.start(this, this, address, null, meters);
  }

  /** One row of everything that is counted. */
  private static List<MetricSample> counts() {
    return Arrays.stream(Metric.values())
        .map(count -> new MetricSample(count, count.labels(), 2_500_000_000L))
        .toList();
  }

  static LeaseInfo lease(int number) {
    return LeaseInfo.newBuilder()
        .setId("L" + number)
        .setState(number % 2 == 0 ? LeaseInfo.State.STATE_HELD : LeaseInfo.State.STATE_GRACE)
        .setHolder(HOLDER)
        .setTenant(number % 3 == 0 ? "audio" : "vision")
        .setAgeMillis(1000L * number)
        .setClass_(number % 2 == 0 ? LeaseClass.LEASE_CLASS_LATENCY : LeaseClass.LEASE_CLASS_BATCH)
        .addGrants(
            GrantUse.newBuilder()
                .setGrant(
                    Grant.newBuilder()
                        .setServer("gpu-1")
                        .setGpu(number % 2)
                        .setBackend("soft")
                        .setMemoryBytes(1L << 30))
                .setUsedMemoryBytes(1L << 20))
        .build();
  }

  static PartitionInfo partition(long revision) {
    return PartitionInfo.newBuilder()
        .setRef(PartitionRef.newBuilder().setServer("gpu-1").setGpu(1).setName("batch"))
        .setGpuUuid("GPU-01")
        .setSize(PartitionSize.newBuilder().setMemoryBytes(1L << 32).setComputePercent(50))
        .setLeased(PartitionSize.getDefaultInstance())
        .addTenants("vision")
        .setRevision(revision)
        .build();
  }

  private static GpuInfo gpu(int ordinal) {
    return GpuInfo.newBuilder()
        .setServer("gpu-1")
        .setGpu(ordinal)
        .setUuid("GPU-0" + ordinal)
        .setName("soft")
        .setComputeCapability("9.0")
        .setMemoryBytes(8L << 30)
        .setFreeMemoryBytes(7L << 30)
        .setFreeComputePercent(87.5)
        .setHealth(GpuInfo.Health.HEALTH_HEALTHY)
        .setTemperatureCelsius(41)
        .setPowerMilliwatts(70_500)
        .setUtilizationPercent(12)
        .setSmMegahertz(1980)
        .setMemoryMegahertz(3201)
        .setUncorrectedErrors(0)
        .build();
  }

  /** What another server of the pool, with nothing of its own, tells of it. */
  public PoolSnapshot atAnotherServer() {
    return new PoolSnapshot(
        "gpu-2",
        snapshot.resources(),
        new PoolSnapshot.Workload(
            snapshot.leases(), snapshot.queue(), Set.of(), snapshot.sessions()),
        snapshot.tenants(),
        List.of());
  }

  void setLeases(List<LeaseInfo> leases) {
    PoolSnapshot was = snapshot;
    snapshot =
        new PoolSnapshot(
            was.server(),
            was.resources(),
            new PoolSnapshot.Workload(
                leases, was.queue(), was.workload().requestsHere(), was.sessions()),
            was.tenants(),
            was.counts());
  }

  @Override
  public boolean needsTokens() {
    return needsTokens;
  }

  @Override
  public CompletableFuture<String> refusal(@Nullable String token) {
    return CompletableFuture.completedFuture("the token has expired");
  }

  @Override
  public CompletableFuture<Optional<UserInfo>> caller(@Nullable String token) {
    return CompletableFuture.completedFuture(
        Optional.ofNullable(needsTokens ? token : TOKEN)
            .map(ROLES::get)
            .map(role -> new UserInfo("vision", role, "vision/3f0c9a6b21d4", 4_102_444_800_000L)));
  }

  @Override
  public CompletableFuture<Optional<PoolSnapshot>> read(@Nullable String token) {
    return caller(token).thenApply(caller -> caller.map(c -> snapshot));
  }

  @Override
  public CompletableFuture<PoolSnapshot> whole() {
    return CompletableFuture.completedFuture(snapshot);
  }

  @Override
  public CompletableFuture<Optional<GpuHistory>> history(
      @Nullable String token, String gpu, Window window) {
    LeaseLabel lease = new LeaseLabel("L2", "vision", "train", "ada@pc");
    Sample sample =
        new Sample(90_000, 10_000, List.of(new LeaseSample(lease, 5, 4, 3, 1L << 30, 1L << 31)));
    return CompletableFuture.completedFuture(
        gpu.equals("GPU-01")
            ? Optional.of(new GpuHistory(gpu, 8L << 30, window, 95_000, List.of(sample)))
            : Optional.empty());
  }

  @Override
  @SuppressWarnings("unchecked")
  public <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, @Nullable String token, Q request, Consumer<A> each) {
    try {
      return CompletableFuture.completedFuture((A) plane.apply(request));
    } catch (StatusRuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public CompletableFuture<Optional<String>> trouble() {
    return isStuck ? new CompletableFuture<>() : CompletableFuture.completedFuture(trouble);
  }
}
