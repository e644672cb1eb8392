// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.DescriptorProtos.SourceCodeInfo.Location;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.control.v1.PoolGrpc;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The comments of the control plane's messages and their fields, as their files have them. */
final class MessageComments {
  private static final String MESSAGES = "/io/gpupool/control/messages.pb";

  private record Place(String file, List<Integer> path) {}

  private final Map<Place, String> comments = new HashMap<>();

  private MessageComments(FileDescriptorSet files) {
    for (FileDescriptorProto file : files.getFileList()) {
      for (Location location : file.getSourceCodeInfo().getLocationList()) {
        String comment =
            location.hasTrailingComments()
                ? location.getTrailingComments()
                : location.getLeadingComments();
        comments.put(new Place(file.getName(), location.getPathList()), oneLine(comment));
      }
    }
  }

  static MessageComments load() {
    try (InputStream in = PoolGrpc.class.getResourceAsStream(MESSAGES)) {
      return new MessageComments(FileDescriptorSet.parseFrom(in));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the comment before a message. */
  String of(Descriptor message) {
    return at(message.getFile().getName(), path(message));
  }

  /** Returns the comment beside a field, or before it. */
  String of(FieldDescriptor field) {
    List<Integer> message = path(field.getContainingType());
    return at(
        field.getFile().getName(),
        List.of(
            message.get(0), message.get(1), DescriptorProto.FIELD_FIELD_NUMBER, field.getIndex()));
  }

  private String at(String file, List<Integer> path) {
    return comments.getOrDefault(new Place(file, path), "");
  }

  private static List<Integer> path(Descriptor message) {
    return List.of(FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER, message.getIndex());
  }

  private static String oneLine(String comment) {
    return comment.lines().map(String::strip).collect(Collectors.joining(" ")).strip();
  }
}
