// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.browser;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/** One page in a browser, as who uses it sees and moves it. */
public final class Tab {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long POLL_MILLIS = 40;
  private static final Map<String, Integer> KEYS =
      Map.of("Tab", 9, "Enter", 13, "Escape", 27, "Space", 32);

  private static final Set<String> CONTROLS =
      Set.of(
          "button", "link", "textbox", "searchbox", "checkbox", "combobox", "spinbutton", "dialog");

  private final DevTools tools;
  private final String session;
  private final List<String> complaints = new CopyOnWriteArrayList<>();
  private final String probe = resource("probe.js");
  private volatile boolean hasNetworkChanged;

  Tab(DevTools tools, String session) {
    this.tools = tools;
    this.session = session;
    tools.listen(session, this::heard);
    call("Page.enable");
    call("Runtime.enable");
    call("Log.enable");
    call("Network.enable");
    call("Page.addScriptToEvaluateOnNewDocument", "source", probe);
  }

  /**
   * Shows a page, once all that it names is loaded. A browser gives up what it is loading when a
   * network interface of the machine comes or goes, as containers beside it do to it: then the page
   * is loaded again.
   */
  public void open(String address) {
    do {
      hasNetworkChanged = false;
      call("Page.navigate", "url", address);
      await("document.readyState === 'complete'");
    } while (hasNetworkChanged);
  }

  /** Sets how wide and high it is, and whether its user prefers dark colours. */
  public void look(int width, int height, boolean isDark) {
    call(
        "Emulation.setDeviceMetricsOverride",
        "width",
        width,
        "height",
        height,
        "deviceScaleFactor",
        1,
        "mobile",
        false);
    JsonArray features = new JsonArray();
    features.add(object("name", "prefers-color-scheme", "value", isDark ? "dark" : "light"));
    features.add(object("name", "prefers-reduced-motion", "value", "reduce"));
    call("Emulation.setEmulatedMedia", "features", features);
  }

  /** What an expression of JavaScript is, or what the promise that it is comes to. */
  public JsonElement evaluate(String expression) {
    JsonObject answer =
        call(
            "Runtime.evaluate",
            "expression",
            expression,
            "awaitPromise",
            true,
            "returnByValue",
            true);
    assertThat(answer.has("exceptionDetails")).as("%s: %s", expression, answer).isFalse();
    JsonObject result = answer.getAsJsonObject("result");
    return result.has("value") ? result.get("value") : new JsonObject();
  }

  public boolean isTrue(String expression) {
    return evaluate("Boolean(" + expression + ")").getAsBoolean();
  }

  /** Goes to another part of the page, as its address names it. */
  public void go(String hash) {
    evaluate("location.hash = " + quoted(hash));
  }

  /** Takes the network away, or gives it back. */
  public void setOffline(boolean isOffline) {
    call(
        "Network.emulateNetworkConditions",
        "offline",
        isOffline,
        "latency",
        0,
        "downloadThroughput",
        -1,
        "uploadThroughput",
        -1);
  }

  /** Waits until an expression is true. */
  public void await(String expression) {
    awaitValue("Boolean(" + expression + ") || null");
  }

  /** Waits until an expression is not null, and says what it is then. */
  private JsonElement awaitValue(String expression) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    JsonElement value = evaluate(expression);
    while (value.isJsonNull()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError(
            "it did not come true: " + expression + "\ncomplaints: " + complaints + "\n" + text());
      }
      pause();
      value = evaluate(expression);
    }
    return value;
  }

  /** Waits for a control, and does something with it before the page draws itself anew. */
  private JsonElement withControl(String name, String expression) {
    return awaitValue(
        "(control => control ? (" + expression + ") : null)(probe.control(" + quoted(name) + "))");
  }

  /** Waits until a text can be read. */
  public void awaitText(String wanted) {
    await("probe.text().includes(" + quoted(wanted) + ")");
  }

  /** Waits until a text is no longer to be read. */
  public void awaitNoText(String unwanted) {
    await("!probe.text().includes(" + quoted(unwanted) + ")");
  }

  /** All that can be read. */
  public String text() {
    return evaluate("probe.text()").getAsString();
  }

  /** Clicks, with the mouse, on the control with this name; what covers it would be hit instead. */
  public void click(String name) {
    JsonArray at = withControl(name, "probe.centre(control)").getAsJsonArray();
    for (String type : List.of("mousePressed", "mouseReleased")) {
      call(
          "Input.dispatchMouseEvent",
          "type",
          type,
          "x",
          at.get(0),
          "y",
          at.get(1),
          "button",
          "left",
          "clickCount",
          1);
    }
  }

  /** Goes on with the Tab key until the control with this name has the focus, and shows that. */
  public void tabTo(String name) {
    await("probe.control(" + quoted(name) + ")");
    for (int i = 0; i < 100; i++) {
      press("Tab");
      if (evaluate("document.activeElement === probe.control(" + quoted(name) + ")")
          .getAsBoolean()) {
        assertThat(evaluate("probe.showsFocus()").getAsBoolean())
            .as("%s shows that it has the focus", name)
            .isTrue();
        return;
      }
    }
    throw new AssertionError("the Tab key does not come to " + name + "\n" + text());
  }

  public void press(String key) {
    JsonObject event = object("key", key, "code", key, "windowsVirtualKeyCode", KEYS.get(key));
    if (key.equals("Enter")) {
      event.addProperty("text", "\r");
    }
    if (key.equals("Space")) {
      event.addProperty("key", " ");
      event.addProperty("text", " ");
    }
    for (String type : List.of("keyDown", "keyUp")) {
      event.addProperty("type", type);
      tools.call(session, "Input.dispatchKeyEvent", event);
    }
  }

  /** Types over what the control with the focus contains. */
  public void type(String text) {
    evaluate("document.activeElement.select()");
    call("Input.insertText", "text", text);
  }

  /** Types over what the control with this name contains. */
  public void type(String name, String text) {
    withControl(name, "control.focus(), true");
    type(text);
  }

  /** What is wrong with what is shown: see probe.js. */
  public List<String> faults() {
    List<String> faults = new ArrayList<>(complaints);
    evaluate("probe.faults()").getAsJsonArray().forEach(fault -> faults.add(fault.getAsString()));
    for (JsonElement element : call("Accessibility.getFullAXTree").getAsJsonArray("nodes")) {
      JsonObject node = element.getAsJsonObject();
      if (!node.get("ignored").getAsBoolean()
          && CONTROLS.contains(value(node, "role"))
          && value(node, "name").isBlank()) {
        faults.add("a " + value(node, "role") + " has no name: " + node);
      }
    }
    return faults;
  }

  /** What the page has said on its console, errors that it did not catch, answers that failed. */
  public List<String> complaints() {
    return complaints;
  }

  /** Keeps a picture of all of the page. */
  public void picture(Path file) {
    JsonObject answer =
        call("Page.captureScreenshot", "format", "png", "captureBeyondViewport", true);
    try {
      Files.createDirectories(file.getParent());
      Files.write(file, Base64.getDecoder().decode(answer.get("data").getAsString()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void heard(String event, JsonObject parameters) {
    switch (event) {
      case "Runtime.exceptionThrown" ->
          complaints.add("error: " + parameters.get("exceptionDetails"));
      case "Runtime.consoleAPICalled" -> complaints.add("console: " + parameters.get("args"));
      case "Log.entryAdded" -> heardOfLog("log: " + parameters.get("entry"));
      default -> {}
    }
  }

  /** A change of the machine's network is no fault of the page. */
  private void heardOfLog(String entry) {
    if (entry.contains("ERR_NETWORK_CHANGED")) {
      hasNetworkChanged = true;
    } else {
      complaints.add(entry);
    }
  }

  private JsonObject call(String method, Object... parameters) {
    return tools.call(session, method, object(parameters));
  }

  private static JsonObject object(Object... namesAndValues) {
    JsonObject object = new JsonObject();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      String name = namesAndValues[i].toString();
      switch (namesAndValues[i + 1]) {
        case JsonElement json -> object.add(name, json);
        case Number number -> object.addProperty(name, number);
        case Boolean truth -> object.addProperty(name, truth);
        case Object text -> object.addProperty(name, text.toString());
      }
    }
    return object;
  }

  private static String value(JsonObject node, String property) {
    return node.has(property) ? node.getAsJsonObject(property).get("value").getAsString() : "";
  }

  private static String quoted(String text) {
    return new JsonPrimitive(text).toString();
  }

  private static String resource(String name) {
    try (InputStream in = Tab.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
