// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.gpupool.server.identity.FederatedIdentity;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is believed of tokens of a real issuer, over HTTP on loopback. */
class TokenVerifierTest {
  private final AtomicLong passedMillis = new AtomicLong();
  private TestIssuer issuer;
  private TestIssuer.Key key;
  private TokenVerifier verifier;

  @BeforeEach
  void start() throws Exception {
    issuer = new TestIssuer();
    key = issuer.publish("first", "ES256");
    verifier =
        new TokenVerifier(
            List.of(
                new KubernetesIssuer(
                    issuer.cluster(), keys(new ClusterKeySource(issuer.cluster()))),
                new OidcIssuer(issuer.options(), keys(new IssuerKeySource(issuer.url(), null)))),
            () -> System.currentTimeMillis() + passedMillis.get());
  }

  private IssuerKeys keys(KeySource source) {
    return new IssuerKeys(
        source,
        TimeUnit.SECONDS.toNanos(10),
        () -> TimeUnit.MILLISECONDS.toNanos(passedMillis.get()));
  }

  @AfterEach
  void stop() {
    verifier.close();
    issuer.close();
  }

  @Test
  void token_ofEachAlgorithm_isBelieved() throws Exception {
    for (String algorithm :
        new String[] {"RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}) {
      TestIssuer.Key other = issuer.publish("key-" + algorithm, algorithm);
      pass(11);
      FederatedIdentity identity =
          identity(TestIssuer.sign(other, issuer.claims("blue", "admin"))).orElseThrow();
      assertThat(identity.subject()).as(algorithm).isEqualTo("alice");
      assertThat(identity.tenant()).isEqualTo("blue");
      assertThat(identity.roles()).containsExactly("admin");
    }
  }

  @Test
  void clusterToken_ofPod_namesPodAndNothingElse() throws Exception {
    FederatedIdentity pod =
        identity(TestIssuer.sign(key, issuer.podClaims("team/default", "uid-1"))).orElseThrow();
    assertThat(pod.podUid()).isEqualTo("uid-1");
    assertThat(pod.roles()).isEmpty();
    assertThat(pod.tenant()).isEmpty();
  }

  @Test
  void clusterToken_ofControllerOrNode_hasItsRole() throws Exception {
    FederatedIdentity controller =
        identity(TestIssuer.sign(key, issuer.podClaims("system/controller", "uid-2")))
            .orElseThrow();
    assertThat(controller.roles()).containsExactly("admin");
    assertThat(controller.podUid()).isEmpty();
    FederatedIdentity node =
        identity(TestIssuer.sign(key, issuer.podClaims("system/node", "uid-3"))).orElseThrow();
    assertThat(node.roles()).containsExactly("read-only");
    assertThat(node.podUid()).isEmpty();
  }

  @Test
  void clusterToken_thatDoesNotHold_isNotBelieved() throws Exception {
    JsonObject elsewhere = issuer.podClaims("team/default", "uid-1");
    elsewhere.addProperty("iss", "https://other.example");
    assertRefused(TestIssuer.sign(key, elsewhere), "another issuer than the cluster");
    JsonObject forOthers = issuer.podClaims("team/default", "uid-1");
    forOthers.addProperty("aud", TestIssuer.AUDIENCE);
    assertRefused(TestIssuer.sign(key, forOthers), "another audience than gpupool.io");
    JsonObject noPod = issuer.podClaims("team/default", "uid-1");
    noPod.getAsJsonObject("kubernetes.io").remove("pod");
    assertRefused(TestIssuer.sign(key, noPod), "it is no pod's");
    JsonObject nobody = issuer.podClaims("team/default", "uid-1");
    nobody.addProperty("sub", "alice");
    assertRefused(TestIssuer.sign(key, nobody), "no service account");
    // An OIDC issuer cannot make itself a cluster: another audience, and no tenant's right.
    JsonObject claims = issuer.claims("blue", "admin");
    claims.add("kubernetes.io", new JsonObject());
    assertRefused(TestIssuer.sign(key, claims), "another audience than gpupool.io");
  }

  @Test
  void token_withClaimsThatDoNotHold_isNotBelieved() throws Exception {
    assertRefused(with("iss", "https://elsewhere.example"), "another issuer");
    assertRefused(with("aud", "another"), "another audience");
    assertRefused(with("exp", nowSeconds() - 60), "expired");
    assertRefused(with("exp", "tomorrow"), "no end");
    assertRefused(with("nbf", nowSeconds() + 120), "not valid yet");
    assertRefused(with("sub", 5), "names no subject");
    JsonObject none = issuer.claims("blue", "user");
    none.remove(OidcOptions.TENANT_CLAIM);
    assertRefused(TestIssuer.sign(key, none), "no tenant");
    JsonArray two = new JsonArray();
    two.add("blue");
    two.add("red");
    JsonObject several = issuer.claims("blue", "user");
    several.add(OidcOptions.TENANT_CLAIM, two);
    assertRefused(TestIssuer.sign(key, several), "several tenants");
    JsonObject forMany = issuer.claims("blue", "user");
    JsonArray audiences = new JsonArray();
    audiences.add("another");
    audiences.add(TestIssuer.AUDIENCE);
    forMany.add("aud", audiences);
    assertThat(identity(TestIssuer.sign(key, forMany))).isPresent();
  }

  @Test
  void token_tamperedWith_isNotBelieved() throws Exception {
    String token = TestIssuer.sign(key, issuer.claims("blue", "user"));
    String[] parts = token.split("\\.");
    assertThat(identity(token)).isPresent();
    String raised = TestIssuer.text(issuer.claims("blue", "admin"));
    assertRefused(parts[0] + "." + raised + "." + parts[2], "signature");
    assertRefused(parts[0] + "." + parts[1] + "." + TestIssuer.text(new byte[64]), "signature");
    assertRefused(parts[0] + "." + parts[1] + ".", "signature");
    TestIssuer.Key stranger =
        new TestIssuer.Key("first", "ES256", issuer.publish("x", "ES256").pair());
    assertRefused(TestIssuer.sign(stranger, issuer.claims("blue", "user")), "signature");
    assertRefused(parts[0] + "." + "!!!" + "." + parts[2], "damaged");
    assertRefused(token + ".x", "no signed token");
  }

  @Test
  void token_ofAlgorithmsThatProveNothing_isNotBelieved() throws Exception {
    TestIssuer.Key rsa = issuer.publish("rsa", "RS256");
    pass(11);
    assertRefused(TestIssuer.text(header("none", "first")) + "." + body() + ".e30", "'none'");
    assertRefused(TestIssuer.text(header("None", "first")) + "." + body() + ".e30", "'None'");
    // Signed with the public key as if it were a secret.
    String hmac = TestIssuer.text(header("HS256", "rsa")) + "." + body();
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(rsa.pair().getPublic().getEncoded(), "HmacSHA256"));
    assertRefused(
        hmac + "." + TestIssuer.text(mac.doFinal(hmac.getBytes(StandardCharsets.US_ASCII))),
        "'HS256'");
    // A key of one kind under an algorithm of another.
    assertRefused(
        TestIssuer.sign(header("ES256", "rsa"), issuer.claims("blue", "user"), rsa), "no such key");
    JsonObject critical = header("ES256", "first");
    critical.add("crit", new JsonArray());
    assertRefused(TestIssuer.sign(critical, issuer.claims("blue", "user"), key), "crit");
    JsonObject logout = header("ES256", "first");
    logout.addProperty("typ", "logout+jwt");
    assertRefused(TestIssuer.sign(logout, issuer.claims("blue", "user"), key), "another kind");
  }

  @Test
  void token_withHeaderThatIsNoneOfAnIssuers_isNotBelieved() throws Exception {
    JsonObject number = header("ES256", "first");
    number.addProperty("alg", 256);
    assertRefused(TestIssuer.sign(number, issuer.claims("blue", "user"), key), "signed by ''");
    String twice =
        TestIssuer.text(
            "{\"alg\":\"ES256\",\"alg\":\"ES256\"}".getBytes(StandardCharsets.US_ASCII));
    assertRefused(twice + "." + body() + ".e30", "damaged");
    String deep = "{\"a\":".repeat(600) + "1" + "}".repeat(600);
    assertRefused(
        TestIssuer.text(deep.getBytes(StandardCharsets.US_ASCII)) + "." + body() + ".e30",
        "damaged");
    assertRefused("ey" + "J".repeat(8192) + "." + body() + ".e30", "no signed token");
    String token = TestIssuer.sign(key, issuer.claims("blue", "user"));
    assertRefused(token + "=", "damaged");
  }

  @Test
  void key_thatIsNotForItsToken_isNotUsed() throws Exception {
    TestIssuer.Key weak = issuer.publish("weak", "weak");
    TestIssuer.Key encrypts = issuer.publish("encrypts", "ES256");
    issuer.describe(encrypts, "use", "enc");
    TestIssuer.Key other = issuer.publish("other", "RS256");
    issuer.describe(other, "alg", "RS512");
    assertRefused(
        TestIssuer.sign(header("RS256", "weak"), issuer.claims("blue", "user"), weak),
        "no such key");
    assertRefused(TestIssuer.sign(encrypts, issuer.claims("blue", "user")), "no such key");
    assertRefused(TestIssuer.sign(other, issuer.claims("blue", "user")), "no such key");
    assertRefused(
        TestIssuer.sign(header("ES384", "first"), issuer.claims("blue", "user"), key),
        "no such key");
  }

  @Test
  void keys_rotate_newOnesAreFetchedAndOldOnesForgotten() throws Exception {
    String old = TestIssuer.sign(key, issuer.claims("blue", "user"));
    assertThat(identity(old)).isPresent();
    assertThat(issuer.fetches()).isEqualTo(1);

    TestIssuer.Key next = issuer.publish("second", "ES256");
    issuer.withdraw(key);
    pass(11);
    assertThat(identity(TestIssuer.sign(next, issuer.claims("blue", "user")))).isPresent();
    assertThat(issuer.fetches()).isEqualTo(2);
    assertThat(identity(old)).as("remembered for a minute").isPresent();
    pass(61);
    assertRefused(old, "no such key");
  }

  @Test
  void keys_strangersNameMany_issuerIsAskedOnce() throws Exception {
    for (int i = 0; i < 20; i++) {
      TestIssuer.Key unknown = new TestIssuer.Key("guess-" + i, "ES256", key.pair());
      assertRefused(TestIssuer.sign(unknown, issuer.claims("blue", "user")), "no such key");
    }
    assertThat(issuer.fetches()).isEqualTo(1);
  }

  @Test
  void verdicts_manyStrangersTokens_oneInUseIsNotVerifiedAgain() throws Exception {
    String token = TestIssuer.sign(key, issuer.claims("blue", "user"));
    assertThat(identity(token)).isPresent();
    issuer.withdraw(key);
    TestIssuer.Key next = issuer.publish("second", "ES256");
    pass(11);
    assertThat(identity(TestIssuer.sign(next, issuer.claims("blue", "user")))).isPresent();
    for (int i = 0; i < 40_000; i++) {
      assertThat(identity("ey.stranger." + i)).isEmpty();
      // Often: the cache counts uses of entries approximately, and may miss some under load.
      if (i % 10 == 0) {
        assertThat(identity(token)).as("remembered although its key is gone").isPresent();
      }
    }
    pass(61);
    assertRefused(token, "no such key");
  }

  @Test
  void verdict_ofRefusedToken_isForgottenSooner() throws Exception {
    TestIssuer.Key late = new TestIssuer.Key("late", "ES256", key.pair());
    String token = TestIssuer.sign(late, issuer.claims("blue", "user"));
    assertRefused(token, "no such key");
    pass(4);
    assertThat(verifier.rejectionReason(token)).contains("no such key");
    pass(2);
    assertThat(verifier.rejectionReason(token)).contains("not verified in time");
  }

  @Test
  void token_isShownManyTimesAtOnce_isVerifiedOnceForAll() throws Exception {
    String token = TestIssuer.sign(key, issuer.podClaims("team/default", "uid-1"));
    List<CompletableFuture<String>> answers =
        IntStream.range(0, 500)
            .mapToObj(i ->
                verifier
                    .verified(token)
                    .thenApply(known ->
                        verifier.find(token).isEmpty() ? verifier.rejectionReason(token) : ""))
            .toList();
    for (CompletableFuture<String> answer : answers) {
      assertThat(answer.get(10, TimeUnit.SECONDS)).isEmpty();
    }
  }

  @Test
  void issuer_isAway_keysHoldForADay() throws Exception {
    JsonObject claims = issuer.claims("blue", "user");
    claims.addProperty("exp", nowSeconds() + 10 * 24 * 3600);
    String token = TestIssuer.sign(key, claims);
    assertThat(identity(token)).isPresent();
    issuer.goAway();
    pass(3600);
    assertThat(identity(token)).isPresent();
    pass(24 * 3600);
    assertRefused(token, "cannot be had");
  }

  @Test
  void roles_inNestedClaim_areFound() {
    Claims claims =
        Claims.parse("{\"realm_access\":{\"roles\":[\"x\",\"gpupool-admin\",7]},\"a.b\":\"c\"}")
            .orElseThrow();
    assertThat(claims.texts("realm_access.roles")).containsExactly("x", "gpupool-admin");
    assertThat(claims.texts("a.b")).containsExactly("c");
    assertThat(claims.texts("realm_access.roles.x")).isEmpty();
    for (String text : new String[] {"", "[]", "{} {}", "{'a':1}", "{\"a\":1,}", "null"}) {
      assertThat(Claims.parse(text)).as(text).isEmpty();
    }
  }

  @Test
  void options_issuerInClearText_isRefusedBeyondThisMachine() {
    for (String url :
        new String[] {"http://192.0.2.1", "https://a.example/?x", "ftp://a.example", "a"}) {
      assertThatThrownBy(() -> new OidcOptions(URI.create(url), "gpupool", "t", "r", null))
          .as(url)
          .hasMessageContaining("--oidc-issuer");
    }
  }

  private String body() {
    return TestIssuer.text(issuer.claims("blue", "admin"));
  }

  private static JsonObject header(String algorithm, String id) {
    JsonObject header = new JsonObject();
    header.addProperty("alg", algorithm);
    header.addProperty("kid", id);
    return header;
  }

  private String with(String claim, Object value) throws Exception {
    JsonObject claims = issuer.claims("blue", "user");
    claims.add(
        claim,
        value instanceof Number n ? new JsonPrimitive(n) : new JsonPrimitive((String) value));
    return TestIssuer.sign(key, claims);
  }

  private Optional<FederatedIdentity> identity(String token) throws Exception {
    verifier.verified(token).get(30, TimeUnit.SECONDS);
    return verifier.find(token);
  }

  private void assertRefused(String token, String why) throws Exception {
    assertThat(identity(token)).as(why).isEmpty();
    assertThat(verifier.rejectionReason(token)).contains(why);
  }

  private static long nowSeconds() {
    return System.currentTimeMillis() / 1000;
  }

  private void pass(long seconds) {
    passedMillis.addAndGet(1000 * seconds);
  }
}
