// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ParameterizedTypeTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import io.gpupool.deploy.MainSources.Source;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The rule that an optional is what a method returns: a field, a parameter and a component of a
 * record are nullable instead.
 */
class OptionalsTest {
  private static final Set<String> OPTIONALS =
      Set.of("Optional", "OptionalInt", "OptionalLong", "OptionalDouble");

  @Test
  void fieldsAndParameters_all_areNoOptionals() throws IOException {
    List<Source> sources = MainSources.all();
    assertThat(sources).hasSizeGreaterThan(900);
    List<String> found = new ArrayList<>();
    for (Source source : sources) {
      new Variables(source, found).scan(source.unit(), null);
    }
    assertThat(found).as("fields, parameters and components that are optionals").isEmpty();
  }

  /** A scan of one file for fields, parameters and components whose type is an optional. */
  private static final class Variables extends TreeScanner<Void, Void> {
    private final Source source;
    private final List<String> found;

    Variables(Source source, List<String> found) {
      this.source = source;
      this.found = found;
    }

    @Override
    public Void visitClass(ClassTree type, Void none) {
      type.getMembers().forEach(this::check);
      return super.visitClass(type, none);
    }

    @Override
    public Void visitMethod(MethodTree method, Void none) {
      method.getParameters().forEach(this::check);
      return super.visitMethod(method, none);
    }

    @Override
    public Void visitLambdaExpression(LambdaExpressionTree lambda, Void none) {
      lambda.getParameters().forEach(this::check);
      return super.visitLambdaExpression(lambda, none);
    }

    private void check(Tree tree) {
      if (tree instanceof VariableTree variable && isOptional(variable.getType())) {
        found.add(source.path() + ": " + variable.getName());
      }
    }

    /** Returns whether a type is an optional; the parameter of a lambda may have no type. */
    private static boolean isOptional(@Nullable Tree type) {
      return switch (type) {
        case ParameterizedTypeTree parameterized -> isOptional(parameterized.getType());
        case MemberSelectTree qualified -> OPTIONALS.contains(qualified.getIdentifier().toString());
        case IdentifierTree simple -> OPTIONALS.contains(simple.getName().toString());
        case null, default -> false;
      };
    }
  }
}
