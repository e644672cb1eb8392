// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for NVIDIA's ptxas, where `gpupool run` has a program on software GPUs look for it: such GPUs run PTX,
// so the "machine code" that it makes is the PTX itself. Triton runs it for each kernel.
//
//   gpupool-ptxas --version
//   gpupool-ptxas [OPTION]... FILE -o OUT    copies FILE to OUT; "-" is the standard input
//
// The options of ptxas are taken and have no effect. What is wrong with the PTX is said when it is loaded.
// Status 1: the command line is wrong, or a file cannot be read or written.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Options whose value may be the next argument; all others have it behind "=", or none.
static const char *const with_value[] = {
    "-arch", "--gpu-name", "-maxrregcount", "--maxrregcount", "-O", "--opt-level", "-opt-level", "--def-load-cache",
    "-dlcm", "--def-store-cache", "-dscm", "--machine", "--compile-functions", "--entry", "-e",
};

struct command {
  const char *input, *output;
};

static int fail(const char *what, const char *why) {
  fprintf(stderr, "gpupool-ptxas: %s: %s\n", what, why);
  return 1;
}

static bool takes_value(const char *option) {
  for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
    if (strcmp(option, with_value[i]) == 0) return true;
  }
  return false;
}

/** Reads the command line; 1 if it is wrong, which has been said then. */
static int parse(int count, char **arguments, struct command *command) {
  for (int i = 1; i < count; i++) {
    const char *argument = arguments[i];
    if (strcmp(argument, "-o") == 0 || strcmp(argument, "--output-file") == 0) {
      if (++i == count) return fail(argument, "takes the name of a file");
      command->output = arguments[i];
    } else if (strncmp(argument, "--output-file=", 14) == 0) {
      command->output = argument + 14;
    } else if (takes_value(argument)) {
      i++;
    } else if (argument[0] != '-' || !argument[1]) {
      if (command->input) return fail(argument, "is one file too many: it takes one");
      command->input = argument;
    }
  }
  if (!command->input) return fail("no input", "it takes a file of PTX");
  if (!command->output) return fail("no output", "it takes -o FILE");
  return 0;
}

static int copy(FILE *from, FILE *to, const struct command *command) {
  char buffer[1 << 16];
  size_t bytes;
  while ((bytes = fread(buffer, 1, sizeof buffer, from)) > 0) {
    if (fwrite(buffer, 1, bytes, to) != bytes) return fail(command->output, strerror(errno));
  }
  return ferror(from) ? fail(command->input, strerror(errno)) : 0;
}

static int write_output(const struct command *command) {
  bool standard = strcmp(command->input, "-") == 0;
  FILE *from = standard ? stdin : fopen(command->input, "r");
  if (!from) return fail(command->input, strerror(errno));
  FILE *to = fopen(command->output, "w");
  int status = to ? copy(from, to, command) : fail(command->output, strerror(errno));
  if (to && fclose(to) != 0 && !status) status = fail(command->output, strerror(errno));
  if (status && to) remove(command->output);
  if (!standard) fclose(from);
  return status;
}

int main(int count, char **arguments) {
  if (count == 2 && (strcmp(arguments[1], "--version") == 0 || strcmp(arguments[1], "-V") == 0)) {
    // Tools read the release, and choose a version of PTX by it: 9.0 here.
    puts("gpupool-ptxas: PTX for software GPUs\nCuda compilation tools, release 13.0, V13.0.0");
    return 0;
  }
  struct command command = {0};
  return parse(count, arguments, &command) || write_output(&command);
}
