// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.QueuedRequestRecord;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.rejection.InvalidFieldException;
import java.util.Optional;

/** The stored form of lease requests that wait. */
final class QueueForm {
  private QueueForm() {}

  static QueuedRequestRecord queued(QueueRecord waiting) {
    Principal principal = waiting.spec().principal();
    return QueuedRequestRecord.newBuilder()
        .setNumber(waiting.number())
        .setServer(waiting.server())
        .setSinceMillis(waiting.sinceMillis())
        .setRequest(waiting.message().toByteString())
        .setActorTenant(principal.tenant())
        .setActorRole(TenantForm.role(principal.role()))
        .setActorToken(Optional.ofNullable(principal.token()).map(TokenHash::text).orElse(""))
        .build();
  }

  static QueueRecord queued(QueuedRequestRecord record) {
    try {
      LeaseRequest message = LeaseRequest.parseFrom(record.getRequest());
      Principal principal =
          new Principal(
              record.getActorTenant(),
              TenantForm.role(record.getActorRole()),
              LeaseForm.token(record.getActorToken()));
      return new QueueRecord(
          record.getNumber(),
          record.getServer(),
          record.getSinceMillis(),
          message,
          LeaseRequestValidator.check(message, principal));
    } catch (InvalidProtocolBufferException | InvalidFieldException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }
}
