// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.k8s.dra.v1.Claim;
import io.gpupool.k8s.dra.v1.DRAPluginGrpc;
import io.gpupool.k8s.dra.v1.Device;
import io.gpupool.k8s.dra.v1.NodePrepareResourceResponse;
import io.gpupool.k8s.dra.v1.NodePrepareResourcesRequest;
import io.gpupool.k8s.dra.v1.NodePrepareResourcesResponse;
import io.gpupool.k8s.dra.v1.NodeUnprepareResourceResponse;
import io.gpupool.k8s.dra.v1.NodeUnprepareResourcesRequest;
import io.gpupool.k8s.dra.v1.NodeUnprepareResourcesResponse;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The DRA plugin API for the kubelet. For any thread; it waits on its own threads. */
final class DraService extends DRAPluginGrpc.DRAPluginImplBase {
  private static final Logger LOG = LoggerFactory.getLogger(DraService.class);
  private static final String OLDER = "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin";

  private final NodeClaims claims;

  DraService(NodeClaims claims) {
    this.claims = claims;
  }

  /**
   * Returns the same service under the name of the previous API version, which has the same
   * messages.
   */
  BindableService older() {
    return () -> {
      ServerServiceDefinition.Builder builder = ServerServiceDefinition.builder(OLDER);
      for (ServerMethodDefinition<?, ?> method : bindService().getMethods()) {
        builder.addMethod(older(method));
      }
      return builder.build();
    };
  }

  private static <A, B> ServerMethodDefinition<A, B> older(ServerMethodDefinition<A, B> method) {
    MethodDescriptor<A, B> descriptor = method.getMethodDescriptor();
    return ServerMethodDefinition.create(
        descriptor.toBuilder()
            .setFullMethodName(
                MethodDescriptor.generateFullMethodName(OLDER, descriptor.getBareMethodName()))
            .setSchemaDescriptor(null)
            .build(),
        method.getServerCallHandler());
  }

  @Override
  public void nodePrepareResources(
      NodePrepareResourcesRequest request, StreamObserver<NodePrepareResourcesResponse> kubelet) {
    Thread.startVirtualThread(() -> {
      Map<String, NodePrepareResourceResponse> answers = new ConcurrentHashMap<>();
      try {
        Thread[] each =
            request.getClaimsList().stream()
                .map(claim ->
                    Thread.startVirtualThread(() -> answers.put(claim.getUid(), prepare(claim))))
                .toArray(Thread[]::new);
        for (Thread thread : each) {
          thread.join();
        }
        kubelet.onNext(NodePrepareResourcesResponse.newBuilder().putAllClaims(answers).build());
        kubelet.onCompleted();
      } catch (InterruptedException e) {
        kubelet.onError(Status.CANCELLED.asRuntimeException());
      }
    });
  }

  private NodePrepareResourceResponse prepare(Claim claim) {
    try {
      NodeClaims.Prepared prepared = claims.prepare(claim.getUid());
      LOG.info("claim {}/{} is prepared", claim.getNamespace(), claim.getName());
      return NodePrepareResourceResponse.newBuilder()
          .addDevices(
              Device.newBuilder()
                  .setPoolName(prepared.pool())
                  .setDeviceName(prepared.device())
                  .addCdiDeviceIds(prepared.cdiDevice()))
          .build();
    } catch (InterruptedException e) {
      return NodePrepareResourceResponse.newBuilder().setError("the driver is ending").build();
    } catch (IOException | IllegalArgumentException e) {
      return NodePrepareResourceResponse.newBuilder().setError(e.getMessage()).build();
    } catch (StatusRuntimeException e) {
      return NodePrepareResourceResponse.newBuilder()
          .setError("the pool does not answer: " + e.getMessage())
          .build();
    }
  }

  @Override
  public void nodeUnprepareResources(
      NodeUnprepareResourcesRequest request,
      StreamObserver<NodeUnprepareResourcesResponse> kubelet) {
    NodeUnprepareResourcesResponse.Builder response = NodeUnprepareResourcesResponse.newBuilder();
    for (Claim claim : request.getClaimsList()) {
      NodeUnprepareResourceResponse.Builder answer = NodeUnprepareResourceResponse.newBuilder();
      try {
        claims.unprepare(claim.getUid());
      } catch (IOException e) {
        answer.setError(e.toString());
      }
      response.putClaims(claim.getUid(), answer.build());
    }
    kubelet.onNext(response.build());
    kubelet.onCompleted();
  }
}
