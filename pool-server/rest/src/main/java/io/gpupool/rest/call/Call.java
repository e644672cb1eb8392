// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.call;

import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import io.gpupool.json.JsonForm;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.openapi.Operation;
import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.UserInfo;
import io.gpupool.server.view.PoolSnapshot;
import io.grpc.MethodDescriptor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request that has been checked against its operation.
 *
 * @param variables the values of the path's segments in braces, in order
 * @param query the values of the operation's parameters
 * @param headers the values of a header; empty if the request does not have it
 * @param body the body of the request; an empty object if it has none
 * @param token the token that the caller shows; null: none
 */
public record Call(
    Operation operation,
    List<String> variables,
    Map<String, String> query,
    HeaderValues headers,
    JsonObject body,
    @Nullable String token,
    ControlPlaneClient pool) {
  /** The headers of a request. */
  public interface HeaderValues {
    List<String> of(String name);
  }

  public Call with(JsonObject checked) {
    return new Call(operation, variables, query, headers, checked, token, pool);
  }

  /** Returns the id that the path names; empty if it names none. */
  public String id() {
    return String.join("/", variables);
  }

  public boolean isSet(String parameter) {
    return Boolean.parseBoolean(query.get(parameter));
  }

  /** Returns the caller. */
  public UserInfo caller() throws ProblemException {
    Optional<UserInfo> caller = pool.caller(token);
    if (caller.isEmpty()) {
      throw unknownCaller();
    }
    return caller.get();
  }

  /** Returns the snapshot of all that the caller may see now. */
  public PoolSnapshot snapshot() throws ProblemException {
    Optional<PoolSnapshot> snapshot = pool.snapshot(token);
    if (snapshot.isEmpty()) {
      throw unknownCaller();
    }
    return snapshot.get();
  }

  /** Returns the history of a GPU as the caller may see it; empty if it is another server's. */
  public Optional<GpuHistory> history(String gpu, Window window) throws ProblemException {
    return pool.history(token, gpu, window);
  }

  /** Returns the reason why no program can be served now. */
  public Optional<String> trouble() throws ProblemException {
    return pool.trouble();
  }

  /** Calls a method of the control plane with the caller's rights. */
  public <Q, A> A ask(MethodDescriptor<Q, A> method, Q request) throws ProblemException {
    return pool.ask(method, token, request);
  }

  /** Calls a method of the control plane that takes its time. */
  public <Q, A> A askAtLength(MethodDescriptor<Q, A> method, Q request) throws ProblemException {
    return pool.askAtLength(method, token, request);
  }

  /** Adds the fields of the body to a message that has them. */
  public <B extends Message.Builder> B into(B message) {
    JsonForm.into(body, message);
    return message;
  }

  private ProblemException unknownCaller() throws ProblemException {
    return new ProblemException(
        401,
        token == null
            ? "a token is needed, as in 'Authorization: Bearer TOKEN'; an admin of the pool makes"
                + " one"
            : pool.refusal(token),
        Map.of("WWW-Authenticate", "Bearer"));
  }
}
