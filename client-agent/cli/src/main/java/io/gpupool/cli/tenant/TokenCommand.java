// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.tenant;

import io.gpupool.cli.PoolCommand;
import io.gpupool.cli.Table;
import io.gpupool.client.PoolClient;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.ListTokensRequest;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.Role;
import io.gpupool.control.v1.TokenInfo;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gpupool tenant token}. */
@Command(
    name = "token",
    description = "Manages the tokens by which a tenant's people and programs are known.",
    subcommands = {
      TokenCommand.Listing.class,
      TokenCommand.Create.class,
      TokenCommand.Revoke.class
    },
    synopsisSubcommandLabel = "COMMAND")
final class TokenCommand {
  /** {@code gpupool tenant token list}. */
  @Command(name = "list", description = "Lists the tokens, without what would let one in.")
  static final class Listing extends PoolCommand {
    @Parameters(
        index = "0",
        arity = "0..1",
        paramLabel = "TENANT",
        description = "only this tenant's")
    private @Nullable String tenant;

    @Override
    protected int ask(PoolClient client) {
      List<TokenInfo> tokens =
          client
              .admin()
              .listTokens(
                  ListTokensRequest.newBuilder()
                      .setTenant(Objects.requireNonNullElse(tenant, ""))
                      .build())
              .getTokensList();
      print(tokens, () -> table(tokens));
      return 0;
    }
  }

  /** {@code gpupool tenant token create}. */
  @Command(
      name = "create",
      description = {
        "Makes a token and prints it: the only time that it is shown. Its holder puts it into",
        "GPUPOOL_TOKEN, or into a file that GPUPOOL_TOKEN_FILE names."
      })
  static final class Create extends PoolCommand {
    @Parameters(index = "0", paramLabel = "TENANT", description = "tenant of the token")
    private String tenant;

    @Option(
        names = "--role",
        paramLabel = "ROLE",
        defaultValue = "user",
        description = {
          "read-only: sees the pool; user: leases GPUs for the tenant, too; admin: changes the"
              + " pool,",
          "too (default: ${DEFAULT-VALUE})"
        })
    private String role;

    @Option(
        names = "--expires",
        paramLabel = "DURATION",
        description = "how long it is valid, such as 30d (default: until it is revoked)")
    private @Nullable String expires;

    @Option(names = "--note", paramLabel = "TEXT", description = "what it is for")
    private String note = "";

    @Override
    protected int ask(PoolClient client) {
      CreateTokenReply made =
          client
              .admin()
              .createToken(
                  CreateTokenRequest.newBuilder()
                      .setTenant(tenant)
                      .setRole(role(role))
                      .setValidMillis(
                          expires == null ? 0 : LeaseOptions.duration(expires).toMillis())
                      .setNote(note)
                      .build());
      print(made, () -> made.getToken() + "\n");
      return 0;
    }

    private static Role role(String text) {
      return switch (text) {
        case "read-only" -> Role.ROLE_READ_ONLY;
        case "user" -> Role.ROLE_USER;
        case "admin" -> Role.ROLE_ADMIN;
        default ->
            throw new IllegalArgumentException(
                "'" + text + "' is no role; there are read-only, user and admin");
      };
    }
  }

  /** {@code gpupool tenant token revoke}. */
  @Command(
      name = "revoke",
      description = "Lets a token in no more, and ends the leases that were asked for with it.")
  static final class Revoke extends PoolCommand {
    @Parameters(index = "0", paramLabel = "ID", description = "as 'token list' shows it")
    private String id;

    @Override
    protected int ask(PoolClient client) {
      var reply = client.admin().revokeToken(RevokeTokenRequest.newBuilder().setId(id).build());
      print(reply, () -> "revoked\n");
      return 0;
    }
  }

  private static String table(List<TokenInfo> tokens) {
    Table table = new Table("TOKEN", "TENANT", "ROLE", "MADE", "EXPIRES", "NOTE");
    for (TokenInfo token : tokens) {
      table.row(
          token.getId(),
          token.getTenant(),
          token.getRole().name().replace("ROLE_", "").replace('_', '-').toLowerCase(Locale.ROOT),
          date(token.getCreatedAtMillis()),
          token.getExpiresAtMillis() == 0 ? "never" : date(token.getExpiresAtMillis()),
          token.getNote());
    }
    return table.toString();
  }

  static String date(long millis) {
    return Instant.ofEpochMilli(millis).truncatedTo(ChronoUnit.SECONDS).toString();
  }
}
