// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.control.v1.FieldProperties;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The sources of the views, which set every field that declares a column. */
class FilledFieldsTest {
  private static final Path VIEWS = Path.of("src/main/java/io/gpupool/server/view");
  private static final Pattern WORD = Pattern.compile("(?:^|_)([a-z])");

  private static final Map<String, Descriptor> MESSAGES =
      Map.of(
          "ServerView", ServerInfo.getDescriptor(),
          "GpuView", GpuInfo.getDescriptor(),
          "LeaseView", LeaseInfo.getDescriptor(),
          "QueueView", QueueInfo.getDescriptor(),
          "SessionView", SessionInfo.getDescriptor());

  @Test
  void fields_withAColumn_areSetByTheViewOfTheirMessage() throws IOException {
    for (Map.Entry<String, Descriptor> view : MESSAGES.entrySet()) {
      assertFilled(view.getKey(), view.getValue());
    }
    assertFilled("LeaseView", GrantUse.getDescriptor());
  }

  private static void assertFilled(String view, Descriptor message) throws IOException {
    String source = Files.readString(VIEWS.resolve(view + ".java"));
    for (FieldDescriptor field : message.getFields()) {
      if (field.getOptions().hasExtension(FieldProperties.column)) {
        assertThat(source)
            .as(field.getFullName())
            .containsPattern("set" + camelCase(field) + "_?\\(");
      }
    }
  }

  private static String camelCase(FieldDescriptor field) {
    return WORD.matcher(field.getName()).replaceAll(word -> word.group(1).toUpperCase(Locale.ROOT));
  }
}
