// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.protobuf.Message;
import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.DeletePartitionRequest;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResizePartitionRequest;
import io.gpupool.control.v1.ResumeLeaseRequest;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.SetQuotaRequest;
import io.gpupool.control.v1.SuspendLeaseRequest;
import io.gpupool.control.v1.UncordonServerRequest;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.json.JsonForm;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.call.Handler;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.grpc.MethodDescriptor;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;

/** The operations that change the pool, by operation id. Each is a call of the control plane. */
public final class WriteHandlers {
  private static final String WAIT = "wait";

  private WriteHandlers() {}

  public static Map<String, Handler> byId() {
    Map<String, Handler> byId = new HashMap<>();
    byId.put("drain_servers", WriteHandlers::drain);
    byId.put("uncordon_servers", WriteHandlers::uncordon);
    byId.put("create_partitions", WriteHandlers::createPartition);
    byId.put("update_partitions", WriteHandlers::resizePartition);
    byId.put("delete_partitions", WriteHandlers::deletePartition);
    byId.put("create_tenants", WriteHandlers::createTenant);
    byId.put("replace_tenants", WriteHandlers::setQuota);
    byId.put("delete_tenants", WriteHandlers::deleteTenant);
    byId.put("create_tokens", WriteHandlers::createToken);
    byId.put(
        "delete_tokens",
        ending(
            AdminCollection.tokens,
            PoolAdminGrpc.getRevokeTokenMethod(),
            (id, call) -> RevokeTokenRequest.newBuilder().setId(id).build()));
    byId.put("update_leases", WriteHandlers::updateLease);
    byId.put("move_leases", WriteHandlers::moveLease);
    byId.put("suspend_leases", WriteHandlers::suspendLease);
    byId.put("resume_leases", WriteHandlers::resumeLease);
    byId.put("delete_leases", releasing(Kind.leases));
    byId.put("delete_queue", releasing(Kind.queue));
    byId.put(
        "delete_sessions",
        ending(
            Kind.sessions,
            PoolGrpc.getEndSessionMethod(),
            (id, call) -> EndSessionRequest.newBuilder().setId(id).build()));
    return byId;
  }

  private static Response drain(Call call) throws ProblemException {
    Resource server = new CollectionReader(Kind.servers).find(call);
    return changed(
        Kind.servers,
        call.ask(
            PoolAdminGrpc.getDrainServerMethod(),
            call.into(DrainServerRequest.newBuilder()).setName(server.id()).build()));
  }

  private static Response uncordon(Call call) throws ProblemException {
    Resource server = new CollectionReader(Kind.servers).find(call);
    return changed(
        Kind.servers,
        call.ask(
            PoolAdminGrpc.getUncordonServerMethod(),
            UncordonServerRequest.newBuilder().setName(server.id()).build()));
  }

  private static Response createPartition(Call call) throws ProblemException {
    return created(
        Kind.partitions,
        call.ask(
            PoolAdminGrpc.getCreatePartitionMethod(),
            call.into(CreatePartitionRequest.newBuilder()).build()));
  }

  private static Response resizePartition(Call call) throws ProblemException {
    Resource partition = new CollectionReader(Kind.partitions).find(call);
    long revision = partition.tag().required(call.headers().of("If-Match"));
    return changed(
        Kind.partitions,
        call.ask(
            PoolAdminGrpc.getResizePartitionMethod(),
            call.into(ResizePartitionRequest.newBuilder())
                .setRef(ref(partition))
                .setWait(call.isSet(WAIT))
                .setIfRevision(revision)
                .build()));
  }

  private static Response deletePartition(Call call) throws ProblemException {
    Resource partition = new CollectionReader(Kind.partitions).find(call);
    long revision = partition.tag().required(call.headers().of("If-Match"));
    boolean gone =
        call.ask(
                PoolAdminGrpc.getDeletePartitionMethod(),
                DeletePartitionRequest.newBuilder()
                    .setRef(ref(partition))
                    .setWait(call.isSet(WAIT))
                    .setIfRevision(revision)
                    .build())
            .getGone();
    return Response.nothing(gone ? 204 : 202);
  }

  private static PartitionRef ref(Resource partition) {
    PartitionRef.Builder ref = PartitionRef.newBuilder();
    JsonForm.into(partition.json().getAsJsonObject("ref"), ref);
    return ref.build();
  }

  private static Response createTenant(Call call) throws ProblemException {
    return created(
        Kind.tenants,
        call.ask(
            PoolAdminGrpc.getCreateTenantMethod(),
            call.into(CreateTenantRequest.newBuilder()).build()));
  }

  private static Response setQuota(Call call) throws ProblemException {
    Resource tenant = new CollectionReader(Kind.tenants).find(call);
    long revision = tenant.tag().required(call.headers().of("If-Match"));
    return changed(
        Kind.tenants,
        call.ask(
            PoolAdminGrpc.getSetQuotaMethod(),
            call.into(SetQuotaRequest.newBuilder())
                .setName(tenant.id())
                .setIfRevision(revision)
                .build()));
  }

  private static Response deleteTenant(Call call) throws ProblemException {
    Resource tenant = new CollectionReader(Kind.tenants).find(call);
    long revision = tenant.tag().required(call.headers().of("If-Match"));
    call.ask(
        PoolAdminGrpc.getDeleteTenantMethod(),
        DeleteTenantRequest.newBuilder().setName(tenant.id()).setIfRevision(revision).build());
    return Response.nothing(204);
  }

  private static Response createToken(Call call) throws ProblemException {
    CreateTokenReply made =
        call.ask(
            PoolAdminGrpc.getCreateTokenMethod(),
            call.into(CreateTokenRequest.newBuilder()).build());
    return Response.json(
        201,
        "application/json",
        JsonForm.of(made),
        Map.of(
            "Location",
            Response.path(AdminCollection.tokens.name(), made.getInfo().getId()),
            "Cache-Control",
            "no-store"));
  }

  private static Response updateLease(Call call) throws ProblemException {
    Resource lease = new CollectionReader(Kind.leases).find(call);
    return changed(
        Kind.leases,
        call.ask(
            PoolGrpc.getUpdateLeaseMethod(),
            call.into(UpdateLeaseRequest.newBuilder()).setLeaseId(lease.id()).build()));
  }

  private static Response moveLease(Call call) throws ProblemException {
    Resource lease = new CollectionReader(Kind.leases).find(call);
    return fresh(
        call.askAtLength(
            PoolGrpc.getMoveLeaseMethod(),
            call.into(MoveLeaseRequest.newBuilder()).setLeaseId(lease.id()).build()));
  }

  private static Response suspendLease(Call call) throws ProblemException {
    Resource lease = new CollectionReader(Kind.leases).find(call);
    return fresh(
        call.askAtLength(
            PoolGrpc.getSuspendLeaseMethod(),
            call.into(SuspendLeaseRequest.newBuilder()).setLeaseId(lease.id()).build()));
  }

  private static Response resumeLease(Call call) throws ProblemException {
    Resource lease = new CollectionReader(Kind.leases).find(call);
    return fresh(
        call.askAtLength(
            PoolGrpc.getResumeLeaseMethod(),
            call.into(ResumeLeaseRequest.newBuilder()).setLeaseId(lease.id()).build()));
  }

  private static Response fresh(Message answer) {
    return Response.json(
        200, "application/json", JsonForm.of(answer), Map.of("Cache-Control", "no-store"));
  }

  private static Handler releasing(Kind kind) {
    return ending(
        kind,
        PoolGrpc.getReleaseLeaseMethod(),
        (id, call) ->
            ReleaseLeaseRequest.newBuilder()
                .setLeaseId(id)
                .setReason(call.query().getOrDefault("reason", ""))
                .build());
  }

  /** Ends one thing, of which no state needs to be insisted on. */
  private static <Q extends Message, A extends Message> Handler ending(
      ResourceCollection source,
      MethodDescriptor<Q, A> method,
      BiFunction<String, Call, Q> request) {
    return call -> {
      Resource resource = new CollectionReader(source).find(call);
      call.ask(method, request.apply(resource.id(), call));
      return Response.nothing(204);
    };
  }

  private static Response created(Kind kind, Message message) {
    Resource resource = kind.resource(message);
    Map<String, String> headers = new HashMap<>(resource.tag().headers());
    headers.put("Location", Response.path(kind.name(), resource.id()));
    return Response.json(201, "application/json", resource.json(), headers);
  }

  private static Response changed(Kind kind, Message message) {
    Resource resource = kind.resource(message);
    return Response.json(200, "application/json", resource.json(), resource.tag().headers());
  }
}
