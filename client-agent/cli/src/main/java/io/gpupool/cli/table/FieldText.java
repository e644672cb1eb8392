// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.table;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.gpupool.cli.Amounts;
import io.gpupool.json.DeclaredColumns;
import io.gpupool.json.JsonForm;

/** The text of a field in its declared column, for people. */
final class FieldText {
  private FieldText() {}

  /** Returns the text, which is empty for a field that is absent. */
  static String of(Message message, FieldDescriptor field) {
    if (field.hasPresence() && !message.hasField(field)) {
      return "";
    }
    return switch (message.getField(field)) {
      case Number number -> text(number, field);
      case EnumValueDescriptor constant -> JsonForm.text(constant);
      case Object value -> value.toString();
    };
  }

  private static String text(Number number, FieldDescriptor field) {
    return switch (DeclaredColumns.of(field).getUnit()) {
      case UNIT_RATE -> Amounts.rate(number.doubleValue());
      case UNIT_BYTES -> Amounts.bytes(number.longValue());
      case UNIT_PERCENT -> Amounts.percent(number.doubleValue());
      case UNIT_NANOS -> Amounts.time(number.longValue());
      case UNIT_MILLIS -> Amounts.age(number.longValue());
      case UNIT_COUNT, UNIT_UNSPECIFIED, UNRECOGNIZED -> number.toString();
    };
  }
}
