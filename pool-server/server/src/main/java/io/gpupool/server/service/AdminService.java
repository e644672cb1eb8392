// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.DeletePartitionReply;
import io.gpupool.control.v1.DeletePartitionRequest;
import io.gpupool.control.v1.DeleteTenantReply;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.ListAuditReply;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListPartitionsReply;
import io.gpupool.control.v1.ListPartitionsRequest;
import io.gpupool.control.v1.ListTenantsReply;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.ListTokensReply;
import io.gpupool.control.v1.ListTokensRequest;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.ResizePartitionRequest;
import io.gpupool.control.v1.RevokeTokenReply;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SetQuotaRequest;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.control.v1.UncordonServerRequest;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.StateException;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.tenant.Tenants;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.view.AdminView;
import io.gpupool.server.view.ServerView;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.Set;

/** The gRPC service for admins, which changes the pool. gRPC calls it on the control thread. */
public final class AdminService extends PoolAdminGrpc.PoolAdminImplBase {
  private final Partitions partitions;
  private final Tenants tenants;
  private final Tokens tokens;
  private final AdminView view;
  private final LeaseService leases;
  private final LeaseQueue queue;
  private final Drains drains;
  private final ServerView servers;

  public AdminService(
      Partitions partitions,
      Tenants tenants,
      Tokens tokens,
      AdminView view,
      LeaseService leases,
      LeaseQueue queue,
      Drains drains,
      ServerView servers) {
    this.partitions = partitions;
    this.tenants = tenants;
    this.tokens = tokens;
    this.view = view;
    this.leases = leases;
    this.queue = queue;
    this.drains = drains;
    this.servers = servers;
  }

  @Override
  public void listPartitions(
      ListPartitionsRequest request, StreamObserver<ListPartitionsReply> reply) {
    answer(reply, () -> view.partitions(AuthInterceptor.principal()));
  }

  @Override
  public void createPartition(CreatePartitionRequest request, StreamObserver<PartitionInfo> reply) {
    answer(
        reply,
        () -> {
          Gpu gpu = gpu(request.getRef());
          partitions.create(
              AuthInterceptor.principal(),
              gpu,
              request.getRef().getName(),
              AdminView.wanted(request.getSize()),
              request.getHard(),
              Set.copyOf(request.getTenantsList()));
          queue.dispatch();
          return view.partition(gpu, request.getRef().getName());
        });
  }

  @Override
  public void resizePartition(ResizePartitionRequest request, StreamObserver<PartitionInfo> reply) {
    answer(
        reply,
        () -> {
          Gpu gpu = gpu(request.getRef());
          partitions.resize(
              AuthInterceptor.principal(),
              gpu,
              request.getRef().getName(),
              AdminView.wanted(request.getSize()),
              request.getWait(),
              request.getIfRevision());
          queue.dispatch();
          return view.partition(gpu, request.getRef().getName());
        });
  }

  @Override
  public void deletePartition(
      DeletePartitionRequest request, StreamObserver<DeletePartitionReply> reply) {
    answer(
        reply,
        () -> {
          boolean gone =
              partitions.delete(
                  AuthInterceptor.principal(),
                  gpu(request.getRef()),
                  request.getRef().getName(),
                  request.getWait(),
                  request.getIfRevision());
          queue.dispatch();
          return DeletePartitionReply.newBuilder().setGone(gone).build();
        });
  }

  @Override
  public void listTenants(ListTenantsRequest request, StreamObserver<ListTenantsReply> reply) {
    answer(reply, () -> view.tenants(AuthInterceptor.principal(), request.getName()));
  }

  @Override
  public void createTenant(CreateTenantRequest request, StreamObserver<TenantInfo> reply) {
    answer(
        reply,
        () -> {
          tenants.create(
              AuthInterceptor.principal(),
              request.getName(),
              AdminView.quota(request.getQuota()),
              HolderName.plain(request.getQuotaManager()));
          return view.tenant(request.getName());
        });
  }

  @Override
  public void setQuota(SetQuotaRequest request, StreamObserver<TenantInfo> reply) {
    answer(
        reply,
        () -> {
          tenants.setQuota(
              AuthInterceptor.principal(),
              request.getName(),
              AdminView.quota(request.getQuota()),
              HolderName.plain(request.getQuotaManager()),
              request.getIfRevision());
          queue.dispatch();
          return view.tenant(request.getName());
        });
  }

  @Override
  public void deleteTenant(DeleteTenantRequest request, StreamObserver<DeleteTenantReply> reply) {
    answer(
        reply,
        () -> {
          tenants.delete(AuthInterceptor.principal(), request.getName(), request.getIfRevision());
          return DeleteTenantReply.getDefaultInstance();
        });
  }

  @Override
  public void listTokens(ListTokensRequest request, StreamObserver<ListTokensReply> reply) {
    answer(reply, () -> view.tokens(request.getTenant()));
  }

  @Override
  public void createToken(CreateTokenRequest request, StreamObserver<CreateTokenReply> reply) {
    answer(
        reply,
        () -> {
          Tokens.Made made =
              tokens.create(
                  AuthInterceptor.principal(),
                  request.getTenant(),
                  AdminView.role(request.getRole()),
                  request.getValidMillis(),
                  request.getNote());
          return CreateTokenReply.newBuilder()
              .setInfo(view.token(made.hash()))
              .setToken(made.text())
              .build();
        });
  }

  @Override
  public void revokeToken(RevokeTokenRequest request, StreamObserver<RevokeTokenReply> reply) {
    answer(
        reply,
        () -> {
          TokenHash revoked = tokens.revoke(AuthInterceptor.principal(), request.getId());
          leases.endLeasesOf(revoked, "its token was revoked");
          return RevokeTokenReply.getDefaultInstance();
        });
  }

  @Override
  public void drainServer(DrainServerRequest request, StreamObserver<ServerInfo> reply) {
    answer(
        reply,
        () -> {
          drains.drain(
              AuthInterceptor.principal(),
              request.getName(),
              request.hasDeadlineMillis() ? request.getDeadlineMillis() : null,
              request.getMove());
          return servers.server(request.getName());
        });
  }

  @Override
  public void uncordonServer(UncordonServerRequest request, StreamObserver<ServerInfo> reply) {
    answer(
        reply,
        () -> {
          drains.uncordon(AuthInterceptor.principal(), request.getName());
          return servers.server(request.getName());
        });
  }

  @Override
  public void listAudit(ListAuditRequest request, StreamObserver<ListAuditReply> reply) {
    answer(reply, () -> view.audit(request.getLimit()));
  }

  private Gpu gpu(PartitionRef ref) throws RefusedException {
    return partitions.find(ref.getServer(), ref.getGpu());
  }

  /** What a call does; what it throws becomes the call's status. */
  private interface Call<T> {
    T run() throws RefusedException, StateException;
  }

  private static <T> void answer(StreamObserver<T> reply, Call<T> call) {
    T answer;
    try {
      answer = call.run();
    } catch (RefusedException e) {
      reply.onError(CallStatus.failure(e));
      return;
    } catch (StateException e) {
      reply.onError(Status.RESOURCE_EXHAUSTED.withDescription(e.getMessage()).asRuntimeException());
      return;
    }
    reply.onNext(answer);
    reply.onCompleted();
  }
}
