// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import com.google.gson.JsonElement;
import com.google.protobuf.Message;
import io.gpupool.client.PoolClient;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.json.JsonForm;
import io.gpupool.transport.EventLoops;
import io.netty.channel.EventLoopGroup;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that asks a pool something and prints the answer. */
public abstract class PoolCommand implements Callable<Integer> {
  /** The forms of output. */
  public enum Output {
    table,
    json
  }

  @Option(
      names = "--pool",
      paramLabel = "[tls://]HOST[:PORT]",
      description = "the pool's control plane (else GPUPOOL_POOL, else this machine's port 7642)")
  private @Nullable String pool;

  @Mixin private SecurityOptions security = new SecurityOptions();

  @Option(names = "--output", description = "table or json", defaultValue = "table")
  private Output output = Output.table;

  public final PoolAddress address() {
    return security.once().secured(named());
  }

  private PoolAddress named() {
    return Optional.ofNullable(pool)
        .or(Environment::pool)
        .map(PoolAddress::parse)
        .orElse(new PoolAddress("localhost", PoolAddress.DEFAULT_PORT));
  }

  public final boolean json() {
    return output == Output.json;
  }

  /** Prints an answer in the form that was asked for. */
  public final void print(Message answer, Supplier<String> table) {
    print(() -> JsonForm.of(answer), table);
  }

  public final void print(List<? extends Message> answers, Supplier<String> table) {
    print(() -> JsonForm.of(answers), table);
  }

  /** Prints either form. */
  public final void print(Supplier<? extends JsonElement> form, Supplier<String> table) {
    System.out.print(json() ? JsonForm.text(form.get()) + "\n" : table.get());
  }

  private PoolClient client(EventLoopGroup loops) {
    return new PoolClient(named(), Environment.token(), security.once(), loops);
  }

  /** Asks and prints. */
  protected abstract int ask(PoolClient client) throws Exception;

  @Override
  public Integer call() throws Exception {
    EventLoopGroup loops = EventLoops.create("gpupool-command", 1);
    try (PoolClient client = client(loops)) {
      return ask(client);
    }
  }
}
