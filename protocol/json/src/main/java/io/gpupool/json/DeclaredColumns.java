// SPDX-License-Identifier: Apache-2.0
package io.gpupool.json;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.control.v1.Column;
import io.gpupool.control.v1.FieldProperties;
import java.util.List;

/** The columns that fields of messages declare with the option {@code column}. */
public final class DeclaredColumns {
  private DeclaredColumns() {}

  /** Returns the fields of a message that have a column in a view, in their order. */
  public static List<FieldDescriptor> of(Descriptor message, Column.View view) {
    return message.getFields().stream()
        .filter(field -> field.getOptions().hasExtension(FieldProperties.column))
        .filter(field -> isIn(view, of(field)))
        .toList();
  }

  /** Returns the column of a field that has one. */
  public static Column of(FieldDescriptor field) {
    return field.getOptions().getExtension(FieldProperties.column);
  }

  private static boolean isIn(Column.View view, Column column) {
    return column.getViewsCount() == 0 || column.getViewsList().contains(view);
  }
}
