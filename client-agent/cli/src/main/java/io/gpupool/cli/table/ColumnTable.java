// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.table;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.gpupool.cli.Table;
import io.gpupool.control.v1.Column;
import io.gpupool.json.DeclaredColumns;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * A builder of tables whose rows are made of messages. A column is declared by fields of the
 * messages, or written for the table. Declared columns that the table does not place come last.
 */
public final class ColumnTable<R> {
  private final Function<R, List<? extends Message>> messages;

  /** The fields with a declared column that has no place yet, by its head. */
  private final Map<String, List<FieldDescriptor>> declared = new LinkedHashMap<>();

  private final Map<String, Function<R, Object>> columns = new LinkedHashMap<>();

  private ColumnTable(
      Column.View view,
      List<Descriptor> descriptors,
      Function<R, List<? extends Message>> messages) {
    this.messages = messages;
    descriptors.stream()
        .flatMap(message -> DeclaredColumns.of(message, view).stream())
        .forEach(
            field -> declared.computeIfAbsent(head(field), head -> new ArrayList<>()).add(field));
  }

  /** Begins a table with a message in each row. */
  public static <M extends Message> ColumnTable<M> of(Column.View view, M prototype) {
    return new ColumnTable<>(view, List.of(prototype.getDescriptorForType()), List::of);
  }

  /** Begins a table with several messages in each row, of these types. */
  public static <R> ColumnTable<R> of(
      Column.View view,
      List<Descriptor> descriptors,
      Function<R, List<? extends Message>> messages) {
    return new ColumnTable<>(view, descriptors, messages);
  }

  /** Places declared columns. */
  public ColumnTable<R> declared(String... heads) {
    for (String head : heads) {
      place(head, Objects.requireNonNull(declared.remove(head), head));
    }
    return this;
  }

  /** Adds a column that is written for the table. */
  public ColumnTable<R> column(String head, Function<R, Object> cell) {
    columns.put(head, cell);
    return this;
  }

  /** Returns the table of these rows. */
  public Table table(List<R> rows) {
    declared.forEach(this::place);
    declared.clear();
    Table table = new Table(columns.keySet().toArray(String[]::new));
    for (R row : rows) {
      table.row(columns.values().stream().map(cell -> cell.apply(row)).toArray());
    }
    return table;
  }

  private void place(String head, List<FieldDescriptor> fields) {
    columns.put(head, row -> cell(row, fields));
  }

  private Object cell(R row, List<FieldDescriptor> fields) {
    for (Message message : messages.apply(row)) {
      for (FieldDescriptor field : fields) {
        if (field.getContainingType().equals(message.getDescriptorForType())) {
          return FieldText.of(message, field);
        }
      }
    }
    return "";
  }

  private static String head(FieldDescriptor field) {
    return DeclaredColumns.of(field).getHead().toUpperCase(Locale.ROOT);
  }
}
