// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.ClusterDemand;
import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.instruction.LegacyForms;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Parser of a translation unit. */
public final class ModuleParser {
  private static final int NEWEST_VERSION = 90;

  private final SourceLines sourceLines = new SourceLines();
  private final Lexer lexer;
  private final PerformanceDirectives performance;
  private final int computeCapability;
  private final Map<String, String> renames;
  private final Scope scope = new Scope(null);
  private final Map<String, Function> functions = new LinkedHashMap<>();
  private final Map<String, String> aliases = new LinkedHashMap<>();
  private final Map<String, GlobalVariable> globals = new LinkedHashMap<>();
  private int version;
  private int target;

  /**
   * Begins to parse a text.
   *
   * @param renames other names for symbols of module scope, under which the results have them
   */
  public ModuleParser(String text, int computeCapability, Map<String, String> renames)
      throws PtxException {
    lexer = new Lexer(text);
    performance = new PerformanceDirectives(lexer);
    this.computeCapability = computeCapability;
    this.renames = renames;
  }

  public Map<String, Function> functions() {
    return functions;
  }

  public Map<String, String> aliases() {
    return aliases;
  }

  public Map<String, GlobalVariable> globals() {
    return globals;
  }

  public SourceLines sourceLines() {
    return sourceLines;
  }

  public int target() {
    return target;
  }

  /** An instruction's modifiers with those that go without saying in this version of PTX. */
  List<String> complete(String opcode, List<String> modifiers) {
    return version <= LegacyForms.LAST_VERSION || target < LegacyForms.FIRST_WITH_SUBNORMALS
        ? LegacyForms.complete(opcode, modifiers, version, target)
        : modifiers;
  }

  public ClusterDemand cluster(String kernel) {
    return performance.cluster(kernel);
  }

  public int maxThreadsPerBlock(String kernel) {
    return performance.maxThreadsPerBlock(kernel);
  }

  public void parse() throws PtxException {
    while (lexer.peek().kind() != Kind.END) {
      Token token = lexer.next();
      if (version == 0 && !token.is(".version")) {
        throw Tokens.error(token, "Missing .version directive at start of file");
      }
      if (token.is("@@")) {
        skipLine(token.line());
      } else if (token.kind() == Kind.DOTTED) {
        directive(token);
      } else if (!token.is(";")) {
        throw Tokens.unexpected(token);
      }
    }
    if (target == 0) {
      throw Tokens.error(lexer.peek(), "Missing .target directive");
    }
    if (!renames.isEmpty()) {
      globals.replaceAll((_, global) -> renamed(global));
    }
  }

  /** A variable whose initial value names symbols as linking does. */
  private GlobalVariable renamed(GlobalVariable global) {
    List<Relocation> relocations = new ArrayList<>(global.relocations());
    relocations.replaceAll(relocation ->
        new Relocation(
            relocation.offsetBytes(),
            renames.getOrDefault(relocation.symbol(), relocation.symbol()),
            relocation.addend()));
    return new GlobalVariable(
        global.name(),
        global.space(),
        global.sizeBytes(),
        global.alignBytes(),
        global.initializer(),
        List.copyOf(relocations),
        global.linkage(),
        global.kind());
  }

  private void directive(Token token) throws PtxException {
    switch (token.text()) {
      case ".version" -> parseVersion();
      case ".target" -> parseTarget(token);
      case ".address_size" -> addressSize();
      case ".file" -> file();
      case ".section" -> skipSection();
      case ".pragma" -> Tokens.skipTo(lexer, ";");
      case ".alias" -> alias();
      case ".visible" -> declaration(lexer.next(), Linkage.VISIBLE);
      case ".weak" -> declaration(lexer.next(), Linkage.WEAK);
      case ".common" -> declaration(lexer.next(), Linkage.COMMON);
      case ".extern" -> declaration(lexer.next(), Linkage.EXTERN);
      default -> declaration(token, Linkage.LOCAL);
    }
  }

  private void declaration(Token token, Linkage linkage) throws PtxException {
    switch (token.text()) {
      case ".entry", ".func" -> function(token.is(".entry"), linkage);
      case ".global", ".const", ".shared", ".tex" -> moduleVariable(token, linkage, scope);
      default -> throw Tokens.unexpected(token);
    }
  }

  private void parseVersion() throws PtxException {
    Token number = lexer.next();
    String[] parts = number.text().split("\\.");
    if (number.kind() != Kind.DOUBLE || parts.length != 2 || parts[0].length() > 2) {
      throw Tokens.unexpected(number);
    }
    version = 10 * Integer.parseInt(parts[0]) + parts[1].charAt(0) - '0';
    if (version > NEWEST_VERSION) {
      throw PtxException.unsupportedVersion(
          number.line(), number.column(), "Unsupported .version " + number.text());
    }
  }

  private void parseTarget(Token where) throws PtxException {
    do {
      Token name = Tokens.word(lexer);
      if (name.text().matches("sm_[0-9]{2,3}[af]?")) {
        target = Integer.parseInt(name.text().replaceAll("[^0-9]", ""));
      }
    } while (Tokens.accept(lexer, ","));
    if (target == 0) {
      throw Tokens.error(where, ".target names no sm_ architecture");
    }
    if (target > computeCapability) {
      throw Tokens.error(
          where,
          "SM version specified by .target is higher than that of this device (sm_"
              + computeCapability
              + ")");
    }
  }

  private void addressSize() throws PtxException {
    Token size = lexer.peek();
    if (Tokens.integer(lexer, 64) != 64) {
      throw Tokens.error(size, "Only .address_size 64 is supported");
    }
  }

  private void alias() throws PtxException {
    Token name = Tokens.word(lexer);
    Tokens.expect(lexer, ",");
    Token aliasee = Tokens.word(lexer);
    Tokens.expect(lexer, ";");
    if (!functions.containsKey(linkName(aliasee))) {
      throw Tokens.error(aliasee, "Unknown symbol '" + aliasee.text() + "'");
    }
    aliases.put(linkName(name), linkName(aliasee));
  }

  /** Parses the rest of a variable declaration of module lifetime into a scope. */
  void moduleVariable(Token directive, Linkage linkage, Scope into) throws PtxException {
    Space space =
        switch (directive.text()) {
          case ".const" -> Space.CONST;
          case ".shared" -> Space.SHARED;
          default -> Space.GLOBAL;
        };
    do {
      Declaration declaration = new DeclarationParser(lexer).one();
      Token name = declaration.name();
      Variable variable =
          new Variable(
              into == scope ? linkName(name) : ownName(name),
              space,
              declaration.sizeBytes(),
              declaration.alignBytes(),
              linkage == Linkage.EXTERN);
      Object earlier = into.findHere(name.text());
      if (earlier instanceof Variable && linkage == Linkage.EXTERN) {
        continue;
      }
      if (earlier instanceof Variable before && before.external()) {
        into.redeclare(name.text(), variable);
      } else {
        into.declare(name, variable);
      }
      Initializer initializer = new Initializer(lexer, declaration);
      if (Tokens.accept(lexer, "=")) {
        initializer.parse();
      }
      if (space != Space.SHARED) {
        globals.put(variable.name(), describe(variable, declaration, initializer, linkage));
      }
    } while (Tokens.accept(lexer, ","));
    Tokens.expect(lexer, ";");
  }

  private String linkName(Token name) {
    return renames.getOrDefault(name.text(), name.text());
  }

  /** A name for a variable inside a function, of which several may have the same. */
  private String ownName(Token name) {
    String own = linkName(name);
    for (int i = 2; globals.containsKey(own); i++) {
      own = linkName(name) + "#" + i;
    }
    return own;
  }

  private static GlobalVariable describe(
      Variable variable, Declaration declaration, Initializer initializer, Linkage linkage) {
    byte[] bytes = initializer.bytes();
    long size = Math.max(variable.sizeBytes(), bytes.length);
    return new GlobalVariable(
        variable.name(),
        variable.space(),
        size,
        variable.alignBytes(),
        bytes,
        List.copyOf(initializer.relocations()),
        linkage,
        declaration.kind());
  }

  private void function(boolean entry, Linkage linkage) throws PtxException {
    Scope params = new Scope(scope);
    List<Formal> results =
        !entry && lexer.peek().is("(") ? FormalParser.parse(lexer, params) : List.of();
    Token name = Tokens.word(lexer);
    List<Formal> arguments = lexer.peek().is("(") ? FormalParser.parse(lexer, params) : List.of();
    String linkName = linkName(name);
    List<Statement> demands = performance.parse(linkName);
    if (!lexer.peek().is("{")) {
      Tokens.expect(lexer, ";");
      if (scope.find(name.text()) == null) {
        Function declared =
            new Function(linkName, entry, linkage, name.line(), results, arguments, null);
        scope.declare(name, declared);
        functions.put(linkName, declared);
      }
      return;
    }
    Function earlier = functions.get(linkName);
    if (earlier != null && earlier.defined()) {
      throw Tokens.error(name, "Duplicate definition of function '" + name.text() + "'");
    }
    if (earlier == null) {
      // Declared before its body is read, which may call it.
      scope.declare(
          name, new Function(linkName, entry, linkage, name.line(), results, arguments, null));
    }
    sourceLines.function(name.line());
    BodyParser body = new BodyParser(lexer, this, params);
    try {
      body.parse();
    } catch (PtxException e) {
      throw e.inFunction(linkName);
    }
    functions.put(
        linkName,
        new Function(
            linkName,
            entry,
            linkage,
            name.line(),
            results,
            arguments,
            new Function.Definition(
                List.copyOf(body.locals()),
                Stream.concat(demands.stream(), body.statements().stream()).toList())));
  }

  /** Parses a prototype, from behind {@code .callprototype}. */
  Function prototype(Scope around) throws PtxException {
    Scope names = new Scope(around);
    List<Formal> results = lexer.peek().is("(") ? FormalParser.parse(lexer, names) : List.of();
    Token name = Tokens.word(lexer);
    List<Formal> arguments = lexer.peek().is("(") ? FormalParser.parse(lexer, names) : List.of();
    performance.parse("");
    Tokens.expect(lexer, ";");
    return new Function(name.text(), false, Linkage.LOCAL, name.line(), results, arguments, null);
  }

  /** {@code .file index "name" [, timestamp, size]}. */
  void file() throws PtxException {
    long number = Tokens.integer(lexer, Long.MAX_VALUE);
    Token name = lexer.next();
    if (name.kind() != Kind.STRING) {
      throw Tokens.unexpected(name);
    }
    sourceLines.file(number, name.text());
    while (Tokens.accept(lexer, ",")) {
      Tokens.integer(lexer, Long.MAX_VALUE);
    }
  }

  private void skipSection() throws PtxException {
    Tokens.skipTo(lexer, "{");
    Tokens.skipTo(lexer, "}");
  }

  private void skipLine(int line) throws PtxException {
    while (lexer.peek().line() == line && lexer.peek().kind() != Kind.END) {
      lexer.next();
    }
  }
}
