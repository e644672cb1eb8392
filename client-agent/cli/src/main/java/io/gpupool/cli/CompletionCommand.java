// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code gpupool completion}: what a shell needs to complete commands and options. */
@Command(
    name = "completion",
    description = {
      "Prints what completes gpupool's commands and options in a shell:",
      "source <(gpupool completion bash)"
    })
final class CompletionCommand implements Runnable {
  /** The shells it is for. */
  enum Shell {
    bash,
    zsh
  }

  @Parameters(index = "0", paramLabel = "bash|zsh", description = "the shell")
  private Shell shell;

  @Override
  public void run() {
    String script = AutoComplete.bash("gpupool", GpupoolCommand.commandLine());
    // The script is one of bash; zsh takes those once it is told to.
    String before =
        shell == Shell.zsh
            ? "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"
            : "";
    System.out.print(before + script);
  }
}
