// SPDX-License-Identifier: Apache-2.0
package io.gpupool.command;

import java.util.function.Supplier;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code gpupool completion}: a script by which a shell completes commands and options. */
@Command(
    name = "completion",
    description = {
      "Prints what completes gpupool's commands and options in a shell:",
      "source <(gpupool completion bash)"
    })
final class CompletionCommand implements Runnable {
  private final Supplier<CommandLine> all;

  /** The shells that have completions. */
  enum Shell {
    bash,
    zsh
  }

  @Parameters(index = "0", paramLabel = "bash|zsh", description = "the shell")
  private Shell shell;

  /** Completes the command that this makes, with all its subcommands. */
  CompletionCommand(Supplier<CommandLine> all) {
    this.all = all;
  }

  @Override
  public void run() {
    String script = AutoComplete.bash("gpupool", all.get());
    // The script is one of bash; zsh takes those once it is told to.
    String before =
        shell == Shell.zsh
            ? "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"
            : "";
    System.out.print(before + script);
  }
}
