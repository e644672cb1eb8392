// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import java.util.Map;
import java.util.Objects;

/**
 * Requests to any method, filled by the names of their fields.
 *
 * @param values texts, bytes and enum values by the fields' names; other fields stay as they are
 */
record RequestOf(Map<String, Object> values) {
  /** Returns the bytes of the request to the method. */
  byte[] to(MethodDescriptor<?, ?> method) {
    PrototypeMarshaller<?> marshaller = (PrototypeMarshaller<?>) method.getRequestMarshaller();
    Message prototype = Objects.requireNonNull((Message) marshaller.getMessagePrototype());
    return fill(prototype.newBuilderForType()).build().toByteArray();
  }

  private Message.Builder fill(Message.Builder message) {
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      if (field.isRepeated()) {
        continue;
      }
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        message.setField(field, fill(message.newBuilderForField(field)).build());
      } else if (values.containsKey(field.getName())) {
        message.setField(field, values.get(field.getName()));
      }
    }
    return message;
  }
}
