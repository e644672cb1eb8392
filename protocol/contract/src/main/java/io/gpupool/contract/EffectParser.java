// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A parser of the effects in {@code ops.txt}. */
final class EffectParser {
  private static final Pattern EFFECT =
      Pattern.compile("(\\w+) ((?:(?! of ).)+?)(?: of (.+?))?(?:, fixed \"(.+)\")?");
  private static final Pattern THING = Pattern.compile("(\\w+)(?:\\(([^)]*)\\))?");
  private static final String SESSION = "session";

  private EffectParser() {}

  /** Parses what stands behind the arrow. */
  static Effect parse(String text) {
    Matcher effect = EFFECT.matcher(text);
    if (!effect.matches()) {
      throw new IllegalArgumentException("not an effect: " + text);
    }
    Effect.Verb verb = Effect.Verb.valueOf(effect.group(1).toUpperCase(Locale.ROOT));
    List<Effect.Thing> things = new ArrayList<>();
    for (String thing : things(verb, effect.group(2))) {
      things.add(thing(thing));
    }
    return new Effect(verb, things, owner(effect.group(3)), effect.group(4));
  }

  /** Returns the effect of a field that mints or drops; null if none of an op's fields does. */
  static @Nullable Effect implied(List<Field> fields) {
    for (Field field : fields) {
      String kind = field.type().name().toLowerCase(Locale.ROOT);
      Effect.Thing thing = new Effect.Thing(kind, List.of(field.name()));
      if (field.role() == Field.Role.MINT) {
        return new Effect(Effect.Verb.MAKES, List.of(thing), Effect.CONTEXT, null);
      }
      if (field.role() == Field.Role.DROP) {
        return new Effect(Effect.Verb.ENDS, List.of(thing), null, null);
      }
    }
    return null;
  }

  private static List<String> things(Effect.Verb verb, String text) {
    return verb == Effect.Verb.CLEARS ? List.of(text.split(" ")) : List.of(text);
  }

  private static Effect.@Nullable Thing owner(@Nullable String text) {
    if (text == null) {
      return Effect.CONTEXT;
    }
    return text.equals(SESSION) ? null : thing(text);
  }

  private static Effect.Thing thing(String text) {
    Matcher thing = THING.matcher(text);
    if (!thing.matches()) {
      throw new IllegalArgumentException("not KIND(FIELD, ...): " + text);
    }
    String fields = thing.group(2);
    return new Effect.Thing(
        thing.group(1), fields == null ? List.of() : List.of(fields.split(",\\s*")));
  }
}
