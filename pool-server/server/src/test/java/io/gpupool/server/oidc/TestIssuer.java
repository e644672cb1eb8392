// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/** A small OpenID Connect issuer on loopback, whose keys come and go as a test wants. */
public final class TestIssuer implements AutoCloseable {
  public static final String AUDIENCE = "gpupool-test";

  private final HttpServer server;
  private final Map<String, JsonObject> published = new LinkedHashMap<>();
  private final AtomicInteger fetches = new AtomicInteger();
  private volatile boolean away;

  /** A key by which it signs. */
  public record Key(String id, String algorithm, KeyPair pair) {}

  /** Opens its port; it has no keys yet. */
  public TestIssuer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/.well-known/openid-configuration", exchange -> answer(exchange, configuration()));
    server.createContext(
        "/keys",
        exchange -> {
          fetches.incrementAndGet();
          answer(exchange, keys());
        });
    server.createContext("/openid/v1/jwks", this::answerAsKubernetes);
    server.start();
  }

  public URI url() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  /** What a server is told of it. */
  public OidcOptions options() {
    return new OidcOptions(url(), AUDIENCE, OidcOptions.TENANT_CLAIM, OidcOptions.ROLE_CLAIM, null);
  }

  /** The same as a Kubernetes cluster's API server, with an admin and a reader. */
  public KubernetesOptions cluster() {
    return new KubernetesOptions(
        url(),
        null,
        null,
        KubernetesOptions.AUDIENCE,
        Set.of("system/controller"),
        Set.of("system/node"));
  }

  /** Claims of a service account's token, as a cluster writes them for a pod. */
  public JsonObject podClaims(String account, String podUid) {
    JsonObject claims = claims("", "");
    claims.remove(OidcOptions.TENANT_CLAIM);
    claims.remove(OidcOptions.ROLE_CLAIM);
    JsonArray audiences = new JsonArray();
    audiences.add(KubernetesOptions.AUDIENCE);
    claims.add("aud", audiences);
    claims.addProperty("sub", "system:serviceaccount:" + account.replace('/', ':'));
    JsonObject pod = new JsonObject();
    pod.addProperty("name", "train");
    pod.addProperty("uid", podUid);
    JsonObject kubernetes = new JsonObject();
    kubernetes.addProperty("namespace", account.substring(0, account.indexOf('/')));
    kubernetes.add("pod", pod);
    claims.add("kubernetes.io", kubernetes);
    return claims;
  }

  /** The same for a pod of a node's agent, with the node as clusters since 1.30 name it. */
  public JsonObject nodeClaims(String account, String podUid, String node) {
    JsonObject claims = podClaims(account, podUid);
    JsonObject bound = new JsonObject();
    bound.addProperty("name", node);
    bound.addProperty("uid", "uid-of-" + node);
    claims.getAsJsonObject("kubernetes.io").add("node", bound);
    return claims;
  }

  int fetches() {
    return fetches.get();
  }

  /** Answers nothing useful from now on. */
  void goAway() {
    away = true;
  }

  /** Makes a key for an algorithm, or a weak one, and publishes it. */
  public Key publish(String id, String algorithm) throws GeneralSecurityException {
    Key key = new Key(id, algorithm, pair(algorithm));
    JsonObject jwk = new JsonObject();
    switch (key.pair().getPublic()) {
      case RSAPublicKey rsa -> {
        jwk.addProperty("kty", "RSA");
        jwk.addProperty("n", text(unsigned(rsa.getModulus(), rsa.getModulus().bitLength() / 8)));
        jwk.addProperty("e", text(unsigned(rsa.getPublicExponent(), 3)));
      }
      case ECPublicKey ec -> {
        jwk.addProperty("kty", "EC");
        int bits = ec.getParams().getOrder().bitLength();
        jwk.addProperty("crv", "P-" + bits);
        jwk.addProperty("x", text(unsigned(ec.getW().getAffineX(), (bits + 7) / 8)));
        jwk.addProperty("y", text(unsigned(ec.getW().getAffineY(), (bits + 7) / 8)));
      }
      case EdECPublicKey ed -> {
        byte[] point = unsigned(ed.getPoint().getY(), 32);
        for (int i = 0; i < point.length / 2; i++) {
          byte swapped = point[i];
          point[i] = point[point.length - 1 - i];
          point[point.length - 1 - i] = swapped;
        }
        point[31] |= (byte) (ed.getPoint().isXOdd() ? 0x80 : 0);
        jwk.addProperty("kty", "OKP");
        jwk.addProperty("crv", "Ed25519");
        jwk.addProperty("x", text(point));
      }
      default -> throw new IllegalStateException(algorithm);
    }
    jwk.addProperty("kid", id);
    jwk.addProperty("use", "sig");
    synchronized (published) {
      published.put(id, jwk);
    }
    return key;
  }

  /** Says more of a published key. */
  void describe(Key key, String name, String value) {
    synchronized (published) {
      Objects.requireNonNull(published.get(key.id())).addProperty(name, value);
    }
  }

  void withdraw(Key key) {
    synchronized (published) {
      published.remove(key.id());
    }
  }

  /** Claims that a pool of these options believes for an hour. */
  public JsonObject claims(String tenant, String role) {
    long now = System.currentTimeMillis() / 1000;
    JsonObject claims = new JsonObject();
    claims.addProperty("iss", url().toString());
    claims.addProperty("aud", AUDIENCE);
    claims.addProperty("sub", "alice");
    claims.addProperty("iat", now);
    claims.addProperty("exp", now + 3600);
    claims.addProperty(OidcOptions.TENANT_CLAIM, tenant);
    claims.addProperty(OidcOptions.ROLE_CLAIM, role);
    return claims;
  }

  /** A token of these claims. */
  public static String sign(Key key, JsonObject claims) throws GeneralSecurityException {
    JsonObject header = new JsonObject();
    header.addProperty("alg", key.algorithm());
    header.addProperty("kid", key.id());
    header.addProperty("typ", "JWT");
    return sign(header, claims, key);
  }

  static String sign(JsonObject header, JsonObject claims, Key key)
      throws GeneralSecurityException {
    String signed = text(header) + "." + text(claims);
    return signed + "." + text(signature(key, signed.getBytes(StandardCharsets.US_ASCII)));
  }

  static String text(JsonObject json) {
    return text(json.toString().getBytes(StandardCharsets.UTF_8));
  }

  static String text(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  @Override
  public void close() {
    server.stop(0);
  }

  private static byte[] signature(Key key, byte[] signed) throws GeneralSecurityException {
    Signature signature =
        Signature.getInstance(
            switch (key.algorithm()) {
              case "RS256", "weak" -> "SHA256withRSA";
              case "PS256" -> "RSASSA-PSS";
              case "ES256" -> "SHA256withECDSAinP1363Format";
              case "ES384" -> "SHA384withECDSAinP1363Format";
              case "ES512" -> "SHA512withECDSAinP1363Format";
              default -> "Ed25519";
            });
    if (key.algorithm().equals("PS256")) {
      signature.setParameter(
          new PSSParameterSpec(
              "SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, PSSParameterSpec.TRAILER_FIELD_BC));
    }
    PrivateKey secret = key.pair().getPrivate();
    signature.initSign(secret);
    signature.update(signed);
    return signature.sign();
  }

  private static KeyPair pair(String algorithm) throws GeneralSecurityException {
    KeyPairGenerator generator =
        KeyPairGenerator.getInstance(
            switch (algorithm) {
              case "RS256", "PS256", "weak" -> "RSA";
              case "ES256", "ES384", "ES512" -> "EC";
              default -> "Ed25519";
            });
    switch (algorithm) {
      case "RS256", "PS256" -> generator.initialize(2048);
      case "weak" -> generator.initialize(1024);
      case "ES256" -> generator.initialize(new ECGenParameterSpec("secp256r1"));
      case "ES384" -> generator.initialize(new ECGenParameterSpec("secp384r1"));
      case "ES512" -> generator.initialize(new ECGenParameterSpec("secp521r1"));
      default -> {
        // There is one size only.
      }
    }
    return generator.generateKeyPair();
  }

  private static byte[] unsigned(BigInteger number, int lengthBytes) {
    byte[] bytes = number.toByteArray();
    byte[] fixed = new byte[lengthBytes];
    byte[] tail = Arrays.copyOfRange(bytes, Math.max(0, bytes.length - lengthBytes), bytes.length);
    System.arraycopy(tail, 0, fixed, lengthBytes - tail.length, tail.length);
    return fixed;
  }

  private JsonObject configuration() {
    JsonObject configuration = new JsonObject();
    configuration.addProperty("issuer", url().toString());
    configuration.addProperty("jwks_uri", url() + "/keys");
    return configuration;
  }

  private JsonObject keys() {
    JsonArray keys = new JsonArray();
    synchronized (published) {
      published.values().forEach(keys::add);
    }
    JsonObject set = new JsonObject();
    set.add("keys", keys);
    return set;
  }

  /** Only to who takes what it has. */
  private void answerAsKubernetes(HttpExchange exchange) throws IOException {
    if (exchange.getRequestHeaders().getFirst("Accept").contains("application/jwk-set+json")) {
      answer(exchange, keys());
    } else {
      exchange.sendResponseHeaders(406, -1);
      exchange.close();
    }
  }

  private void answer(HttpExchange exchange, JsonObject json) throws IOException {
    byte[] bytes = json.toString().getBytes(StandardCharsets.UTF_8);
    try (exchange) {
      exchange.sendResponseHeaders(away ? 503 : 200, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }
}
