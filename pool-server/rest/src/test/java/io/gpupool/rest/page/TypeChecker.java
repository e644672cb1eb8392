// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import com.google.javascript.jscomp.CheckLevel;
import com.google.javascript.jscomp.CommandLineRunner;
import com.google.javascript.jscomp.Compiler;
import com.google.javascript.jscomp.CompilerOptions;
import com.google.javascript.jscomp.DiagnosticGroup;
import com.google.javascript.jscomp.DiagnosticGroups;
import com.google.javascript.jscomp.SourceFile;
import com.google.javascript.jscomp.deps.ModuleLoader;
import io.gpupool.rest.openapi.OpenApi;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The Closure Compiler, which checks the page's modules by the types in their JSDoc. */
final class TypeChecker {
  private static final Path SCRIPTS = Path.of("src/main/resources/io/gpupool/rest/page/js");
  private static final Path TYPES = Path.of("src/test/js/types");
  private static final String PREACT = "vendor/preact.js";

  private static final List<DiagnosticGroup> ERRORS =
      List.of(
          DiagnosticGroups.CHECK_TYPES,
          DiagnosticGroups.CHECK_USELESS_CODE,
          DiagnosticGroups.CHECK_VARIABLES,
          DiagnosticGroups.CONST,
          DiagnosticGroups.EXTRA_REQUIRE,
          DiagnosticGroups.FUNCTION_PARAMS,
          DiagnosticGroups.INVALID_CASTS,
          DiagnosticGroups.LINT_CHECKS,
          DiagnosticGroups.MISSING_OVERRIDE,
          DiagnosticGroups.MISSING_PROPERTIES,
          DiagnosticGroups.MISSING_RETURN,
          DiagnosticGroups.MODULE_LOAD,
          DiagnosticGroups.STRICT_CHECK_TYPES,
          DiagnosticGroups.STRICT_MISSING_PROPERTIES,
          DiagnosticGroups.STRICT_PRIMITIVE_OPERATORS,
          DiagnosticGroups.SUSPICIOUS_CODE,
          DiagnosticGroups.UNDEFINED_VARIABLES,
          DiagnosticGroups.UNUSED_LOCAL_VARIABLE,
          DiagnosticGroups.VISIBILITY);

  private TypeChecker() {}

  /** Returns the page's modules by their paths, with types in the place of the vendored module. */
  static Map<String, String> modules() throws IOException {
    Map<String, String> modules = new TreeMap<>();
    try (Stream<Path> files = Files.walk(SCRIPTS)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        modules.put(SCRIPTS.relativize(file).toString(), Files.readString(file));
      }
    }
    modules.put("declared.js", DeclaredModule.text());
    modules.put(PREACT, Files.readString(TYPES.resolve("preact.js")));
    return modules;
  }

  /** Returns the faults of modules, each with its place. */
  static List<String> faults(Map<String, String> modules) throws IOException {
    CompilerOptions options = new CompilerOptions();
    options.setLanguageIn(CompilerOptions.LanguageMode.ECMASCRIPT_NEXT);
    options.setChecksOnly(true);
    options.setCheckTypes(true);
    options.setCheckSuspiciousCode(true);
    options.setEnvironment(CompilerOptions.Environment.BROWSER);
    options.setModuleResolutionMode(ModuleLoader.ResolutionMode.BROWSER);
    ERRORS.forEach(group -> options.setWarningLevel(group, CheckLevel.ERROR));
    List<SourceFile> externs =
        new ArrayList<>(CommandLineRunner.getBuiltinExterns(CompilerOptions.Environment.BROWSER));
    externs.add(SourceFile.fromCode("rest.js", RestTypes.declarations(OpenApi.get().document())));
    externs.add(SourceFile.fromCode("page.js", Files.readString(TYPES.resolve("page.js"))));
    List<SourceFile> sources =
        modules.entrySet().stream()
            .map(module -> SourceFile.fromCode(module.getKey(), module.getValue()))
            .toList();
    try (PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream())) {
      Compiler compiler = new Compiler(nowhere);
      // Its checks need deep stacks, for which it would start threads of its own.
      compiler.disableThreads();
      compiler.compile(externs, sources, options);
      return Stream.concat(compiler.getErrors().stream(), compiler.getWarnings().stream())
          .map(fault ->
              "%s:%d: %s".formatted(fault.sourceName(), fault.lineno(), fault.description()))
          .toList();
    }
  }
}
