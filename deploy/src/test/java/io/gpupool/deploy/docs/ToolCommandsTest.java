// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Commands of other tools in the documents, as far as they can be checked without a cluster. */
class ToolCommandsTest {
  private static final Pattern INLINE =
      Pattern.compile("`((?:kubectl|helm|docker|podman|--set(?:-file)?) [^`]*)`");

  private static DocumentedObjects objects;

  @BeforeAll
  static void readDocuments() throws IOException {
    objects = DocumentedObjects.read(Page.all());
  }

  @Test
  void commands_inCodeBlocks_agreeWithChartAndExamples() throws IOException {
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Page page : written()) {
      for (Placed placed : inBlocks(page)) {
        count += isOfTool(placed.command()) ? 1 : 0;
        problems(placed.command()).forEach(text -> wrong.add(placed.place() + ": " + text));
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(count).isGreaterThan(18);
  }

  @Test
  void commands_inRunningText_agreeWithChartAndExamples() throws IOException {
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Page page : written()) {
      for (Line line : page.lines(Kind.PROSE, Kind.TABLE)) {
        for (String text : INLINE.matcher(line.text()).results().map(m -> m.group(1)).toList()) {
          count++;
          problems(text).forEach(problem -> wrong.add(page.place(line) + ": " + problem));
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(count).isGreaterThan(10);
  }

  @Test
  void manifests_inCodeBlocks_haveKnownFieldsAndNames() throws IOException {
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Page page : written()) {
      for (String manifest : ManifestNames.manifests(page)) {
        count++;
        objects.names().problems(manifest).forEach(text -> wrong.add(page.path() + ": " + text));
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(count).isGreaterThan(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "kubectl create namespace gpupool --dry | unknown option --dry",
        "kubectl explode pod x | no command of kubectl: explode",
        "kubectl -n other delete pod gpupool-server-0 | no document creates the namespace other",
        "kubectl -n gpupool delete pod gpupool-worker-0 | no pod gpupool-worker-0",
        "kubectl logs -f nothing | no pod nothing",
        "kubectl -n gpupool exec deployment/gpupool-agent -- true | no deployment gpupool-agent",
        "T=$(kubectl exec deployment/gpupool-controller -- gpupool explode) | gpupool explode",
        "kubectl delete pvc -l app.kubernetes.io/instances=gpupool | no label app.kubernetes.io/instances",
        "kubectl apply -f deploy/examples/kubernetes/none.yaml | no file",
        "kubectl gpupool explode | no command of kubectl gpupool: explode",
        "kubectl patch secret gpupool-cb --type json -p [] | no secret gpupool-cb",
        "kubectl patch secret gpupool-ca --type json -p '[{' | no JSON",
        "kubectl get gpuslices | no kind gpuslices",
        "helm install other deploy/charts/gpupool | the release is gpupool, not other",
        "helm install gpupool deploy/charts/pool | no chart deploy/charts/pool",
        "helm install gpupool deploy/charts/gpupool --set server.gpus.number=8 | server.gpus.number",
        "--set dra.enabled=true --set dra.nothing=1 | dra.nothing",
        "helm upgrade gpupool deploy/charts/gpupool --set image.repository=x.example/pool | no document builds the image x.example/pool",
        "docker run --rm -e GPUPOOL_PART=0.5 IMAGE | no variable GPUPOOL_PART",
        "docker run --gpu all IMAGE | unknown option --gpu",
        "docker run -v /opt/gpupool/lib/shim/libcudart.so:/usr/lib/libcudart.so:ro IMAGE | no file lib/shim/libcudart.so",
        "docker run $(gpupool container option -p 0.5) IMAGE | gpupool container option",
        "podman run --device gpupool.io/gpu=eighth IMAGE | no document makes the device eighth",
        "docker build -f Dockerfile2 -t gpupool:0.1.0 target | no file deploy/Dockerfile2",
        "docker build -f Dockerfile -t gpupool:9.9.9 target | gpupool:0.1.0",
      })
  void command_wrong_isFound(String command, String problem) {
    Page page = Page.of(Path.of("x.md"), "```\n" + command + "\n```\n");
    assertThat(inBlocks(page)).hasSize(1);
    assertThat(problems(inBlocks(page).getFirst().command()))
        .anySatisfy(text -> assertThat(text).contains(problem));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gpupool.io/gpus: 1 | no resource gpupool.io/gpus",
        "gpupool.io/request: 1 | no resource gpupool.io/request",
      })
  void manifest_withANameThatIsNone_isFound(String resource, String problem) {
    String pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {gpupool.io/selects: b}}\n"
            + "spec: {containers: [{name: a, resources: {limits: {"
            + resource
            + "}}}]}\n";
    assertThat(objects.names().problems(pod)).contains(problem, "no annotation gpupool.io/selects");
    assertThat(objects.names().problems("kind: Pod")).isNotEmpty();
    assertThat(ManifestNames.manifests(Page.of(Path.of("x.md"), "```yaml\na: 1\n```\n")))
        .containsExactly("a: 1\n");
  }

  private record Placed(String place, String command) {}

  private static List<Page> written() throws IOException {
    return Page.all().stream().filter(page -> !page.isGenerated()).toList();
  }

  /** Returns the lines of code, of which a backslash makes one of two. */
  private static List<Placed> inBlocks(Page page) {
    List<Placed> lines = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    for (Line line : page.lines(Kind.CODE)) {
      text.append(line.text().strip().replaceFirst("^\\$ ", ""));
      if (text.toString().endsWith("\\")) {
        text.setLength(text.length() - 1);
      } else {
        lines.add(new Placed(page.place(line), text.toString()));
        text.setLength(0);
      }
    }
    return lines;
  }

  private static boolean isOfTool(String line) {
    return ShellCommand.all(line).stream()
        .anyMatch(command -> command.program().matches("kubectl|helm|docker|podman"));
  }

  private static List<String> problems(String line) {
    List<String> problems = new ArrayList<>();
    for (ShellCommand command : ShellCommand.all(line)) {
      try {
        switch (command.program()) {
          case "kubectl" -> problems.addAll(new KubectlRules(objects).problems(command));
          case "helm", "--set", "--set-file" ->
              problems.addAll(new HelmRules(objects).problems(command));
          case "docker", "podman" -> problems.addAll(new EngineRules(objects).problems(command));
          // Its commands by themselves are the business of CommandsTest.
          case "gpupool" -> {
            if (!line.startsWith("gpupool")) {
              CommandsTest.problem(command.words()).ifPresent(problems::add);
            }
          }
          default -> {}
        }
      } catch (IllegalArgumentException e) {
        problems.add(e.getMessage() + " in: " + String.join(" ", command.words()));
      }
    }
    return problems;
  }
}
