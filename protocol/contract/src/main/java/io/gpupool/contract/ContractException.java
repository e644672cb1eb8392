// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

/** An error in the description. The message names file and line. */
public final class ContractException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ContractException(String file, int line, String problem) {
    super(file + ":" + line + ": " + problem);
  }
}
