// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.CloseSessionReply;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.control.v1.EndSessionReply;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListQueueReply;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResumeLeaseReply;
import io.gpupool.control.v1.ResumeLeaseRequest;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.control.v1.SuspendLeaseReply;
import io.gpupool.control.v1.SuspendLeaseRequest;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.control.v1.VersionReply;
import io.gpupool.control.v1.VersionRequest;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.PoolView;
import io.gpupool.wire.Versions;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;

/** The gRPC service of the control plane. gRPC calls it on the control thread. */
public final class PoolService extends PoolGrpc.PoolImplBase {
  private final LeaseCalls leases;
  private final LeaseSuspendCall suspending;
  private final SessionCalls sessions;
  private final LeaseLookup lookup;
  private final PoolView view;

  public PoolService(
      LeaseCalls leases,
      LeaseSuspendCall suspending,
      SessionCalls sessions,
      LeaseLookup lookup,
      PoolView view) {
    this.leases = leases;
    this.suspending = suspending;
    this.sessions = sessions;
    this.lookup = lookup;
    this.view = view;
  }

  @Override
  public void version(VersionRequest request, StreamObserver<VersionReply> reply) {
    Replies.answer(
        reply,
        VersionReply.newBuilder()
            .setVersion(view.directory().version())
            .setCallStreamMin(Versions.CALL_STREAM_MIN)
            .setCallStreamMax(Versions.CALL_STREAM_MAX)
            .setServer(view.directory().name())
            .build());
  }

  @Override
  public void requestLease(LeaseRequest request, StreamObserver<LeaseEvent> reply) {
    leases.request(request, (ServerCallStreamObserver<LeaseEvent>) reply);
  }

  @Override
  public StreamObserver<HoldRequest> holdLease(StreamObserver<LeaseEvent> reply) {
    return leases.hold((ServerCallStreamObserver<LeaseEvent>) reply);
  }

  @Override
  public void releaseLease(ReleaseLeaseRequest request, StreamObserver<ReleaseLeaseReply> reply) {
    leases.release(request, reply);
  }

  @Override
  public void updateLease(UpdateLeaseRequest request, StreamObserver<LeaseInfo> reply) {
    leases.update(request, reply);
  }

  @Override
  public void moveLease(MoveLeaseRequest request, StreamObserver<MoveLeaseReply> reply) {
    leases.move(request, reply);
  }

  @Override
  public void suspendLease(SuspendLeaseRequest request, StreamObserver<SuspendLeaseReply> reply) {
    suspending.suspend(request, reply);
  }

  @Override
  public void resumeLease(ResumeLeaseRequest request, StreamObserver<ResumeLeaseReply> reply) {
    suspending.resume(request, reply);
  }

  @Override
  public void describeLease(
      DescribeLeaseRequest request, StreamObserver<DescribeLeaseReply> reply) {
    Principal principal = AuthInterceptor.principal();
    lookup.find(
        request.getLeaseId(),
        request.getSecret(),
        principal,
        found ->
            found.ifPresentOrElse(
                lease -> Replies.answer(reply, view.describe(lease)),
                () -> reply.onError(lookup.unknown(request.getLeaseId(), principal))));
  }

  @Override
  public void openSession(OpenSessionRequest request, StreamObserver<OpenSessionReply> reply) {
    sessions.open(request, reply);
  }

  @Override
  public void resumeSession(
      ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply) {
    sessions.resume(request, reply);
  }

  @Override
  public void closeSession(CloseSessionRequest request, StreamObserver<CloseSessionReply> reply) {
    sessions.close(request, reply);
  }

  @Override
  public void endSession(EndSessionRequest request, StreamObserver<EndSessionReply> reply) {
    sessions.end(request, reply);
  }

  @Override
  public void listServers(ListRequest request, StreamObserver<ListServersReply> reply) {
    Replies.answer(reply, view.servers().list());
  }

  @Override
  public void listGpus(ListRequest request, StreamObserver<ListGpusReply> reply) {
    Replies.answer(reply, view.gpus().list());
  }

  @Override
  public void listLeases(ListRequest request, StreamObserver<ListLeasesReply> reply) {
    Replies.answer(reply, view.leases().list(AuthInterceptor.principal()));
  }

  @Override
  public void listQueue(ListRequest request, StreamObserver<ListQueueReply> reply) {
    Replies.answer(reply, view.queue().list(AuthInterceptor.principal()));
  }

  @Override
  public void listSessions(ListRequest request, StreamObserver<ListSessionsReply> reply) {
    Replies.answer(
        reply, view.sessions().list(AuthInterceptor.principal(), request.getDisconnected()));
  }
}
