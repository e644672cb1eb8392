// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.pool;

import io.gpupool.cli.Table;
import java.util.Locale;

/** A table of checks: each with a verdict, and with advice where it is not well. */
final class Checks {
  /** The state of a check. */
  enum Verdict {
    OK,
    /** It works, but not well. */
    WARN,
    /** It cannot work. */
    FAIL
  }

  private final Table table = new Table("CHECK", "VERDICT", "DETAIL", "ADVICE");
  private boolean failed;

  void add(String what, Verdict verdict, String detail, String advice) {
    failed |= verdict == Verdict.FAIL;
    table.row(
        what,
        verdict == Verdict.OK ? verdict.name().toLowerCase(Locale.ROOT) : verdict.name(),
        detail,
        verdict == Verdict.OK ? "" : advice);
  }

  boolean failed() {
    return failed;
  }

  String table() {
    return table.toString();
  }
}
