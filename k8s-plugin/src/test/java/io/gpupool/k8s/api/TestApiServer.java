// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.api;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.VersionInfo;
import io.fabric8.kubernetes.client.server.mock.KubernetesMixedDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.ServerRequest;
import io.fabric8.mockwebserver.ServerResponse;
import io.fabric8.mockwebserver.dsl.MockServerExpectation;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import io.gpupool.server.FreePort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** An API server that keeps what it is given, but where something else is expected of it. */
public final class TestApiServer implements AutoCloseable, AfterEachCallback {
  // Held here, since loggers that nobody holds are forgotten with their levels.
  private static final Logger REQUESTS = Logger.getLogger(MockWebServer.class.getName());

  static {
    REQUESTS.setLevel(Level.WARNING);
  }

  private final Map<ServerRequest, Queue<ServerResponse>> expected = new HashMap<>();
  private final Answers answers;
  private final int port;
  private final KubernetesClient client;
  private KubernetesMockServer server;

  public TestApiServer() {
    this(request -> false);
  }

  private TestApiServer(Predicate<RecordedRequest> forgotten) {
    answers = new Answers(expected, forgotten);
    port = freePort();
    serve();
    client = server.createClient();
  }

  /** One that takes events and forgets them: it looks at all objects with each call. */
  public static TestApiServer withoutEvents() {
    return new TestApiServer(
        request -> request.getMethod().equals("POST") && request.getPath().endsWith("/events"));
  }

  private static int freePort() {
    try {
      return FreePort.find();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void serve() {
    server = new KubernetesMockServer(new Context(), new MockWebServer(), expected, answers, false);
    server.init(InetAddress.getLoopbackAddress(), port);
  }

  private static final class Answers extends KubernetesMixedDispatcher {
    private final Predicate<RecordedRequest> forgotten;

    Answers(
        Map<ServerRequest, Queue<ServerResponse>> expected, Predicate<RecordedRequest> forgotten) {
      super(expected);
      this.forgotten = forgotten;
    }

    @Override
    public MockResponse dispatch(RecordedRequest request) {
      if (forgotten.test(request)) {
        return new MockResponse().setResponseCode(201).setBody(request.getUtf8Body());
      }
      if (request.getPath().contains("dryRun=")) {
        return new MockResponse().setResponseCode(200).setBody(request.getUtf8Body());
      }
      MockResponse response = super.dispatch(request);
      return response.getWebSocketListener() == null
          ? response
          : response.withWebSocketUpgrade(new PromptWatch(response.getWebSocketListener()));
    }
  }

  /** A client with all rights, closed with the server. */
  public KubernetesClient client() {
    return client;
  }

  /** Another client, as another process has one; who asks for it closes it. */
  public KubernetesClient connect(Consumer<KubernetesClientBuilder> change) {
    return server.createClient(change);
  }

  public int port() {
    return port;
  }

  /** What it is to answer instead, for requests that follow. */
  public MockServerExpectation expect() {
    return server.expect();
  }

  public void setVersion(String major, String minor) {
    server.setVersionInfo(new VersionInfo.Builder().withMajor(major).withMinor(minor).build());
  }

  /** Takes the API server away; what it has it keeps. */
  public void stop() {
    server.destroy();
  }

  public void startAgain() {
    serve();
  }

  @Override
  public void close() {
    client.close();
    server.destroy();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    close();
  }
}
