// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The C of entry points that the contract describes step by step. */
class ShimStepsTest {
  @TempDir Path folder;

  @Test
  void steps_runInTheirOrder_andTheFirstThatFailsEndsTheCall() throws IOException {
    assertThat(
            generated(
                """
                cuX 2000 local auto
                    (int *x, unsigned int *y, CUthing thing, unsigned int flags)
                    need x, flags within FLAGS; find thing of thing as own; find context
                    do thing_lock(own); set own->flags = flags
                    give x = own->x; give y? = own->y
                """))
        .isEqualTo(
            """
            CUresult shim_cuX(int *x, unsigned int *y, CUthing thing, unsigned int flags) {
              if (!x || flags & ~(unsigned int)FLAGS) return CUDA_ERROR_INVALID_VALUE;
              struct thing *own = arena_find(&things, thing);
              if (!own) return CUDA_ERROR_INVALID_HANDLE;
              struct context *context;
              CUresult result = context_current(&context);
              if (result) return result;
              result = thing_lock(own);
              if (result) return result;
              own->flags = flags;
              *x = own->x;
              if (y) *y = own->y;
              return CUDA_SUCCESS;
            }
            """);
  }

  @Test
  void need_ofEachForm_isACondition() throws IOException {
    assertThat(
            generated(
                """
                cuX 2000 local auto
                    (int a, int b, const char *c)
                    need a in 0..3, b in 1.., a < b, a = 0, b = LIMIT, a or b; need *c else NOT_FOUND
                    answer NOT_SUPPORTED
                """))
        .isEqualTo(
            """
            CUresult shim_cuX(int a, int b, const char *c) {
              if (a < 0 || a > 3 || b < 1 || a >= b || a || b != LIMIT || (!a && !b)) \
            return CUDA_ERROR_INVALID_VALUE;
              if (!*c) return CUDA_ERROR_NOT_FOUND;
              return CUDA_ERROR_NOT_SUPPORTED;
            }
            """);
  }

  @Test
  void handle_thatEnds_isDroppedOnceItsOpIsSent() throws IOException {
    assertThat(
            generated(
                """
                cuXDestroy 2000 posted auto
                    (CUthing thing)
                    find thing of thing as own; send thingEnd(own->slot.number) to own->context; drop own of things
                """))
        .isEqualTo(
            """
            CUresult shim_cuXDestroy(CUthing thing) {
              struct thing *own = arena_find(&things, thing);
              if (!own) return CUDA_ERROR_INVALID_HANDLE;
              CUresult result = context_result(own->context, op_thingEnd(own->context->number, \
            own->slot.number));
              return arena_give(&things, own) ? result : CUDA_ERROR_INVALID_HANDLE;
            }
            """);
  }

  @Test
  void callOfAnEntryPoint_thatTakesTheDefaultStream_passesIt() throws IOException {
    assertThat(
            generated(
                """
                cuX_v2 3000 posted hand ptds
                    (int a)
                cuX 2000 posted auto
                    (int a)
                    call cuX_v2
                """))
        .isEqualTo(
            """
            CUresult shim_cuX(int a) {
              return shim_cuX_v2(a, CU_STREAM_LEGACY);
            }
            """);
  }

  @Test
  void callOfAnEntryPoint_withOtherArguments_isRefused() {
    assertThatThrownBy(() ->
            generated(
                """
                cuX_v2 3000 local hand
                    (int a, int b)
                cuX 2000 local auto
                    (int a)
                    call cuX_v2(a)
                """))
        .hasMessageContaining("cuX: not the arguments of cuX_v2");
  }

  /** Returns the functions generated for a topic. */
  private String generated(String topic) throws IOException {
    write("types.txt", "handle CUthing 8 8\n");
    write("wire.txt", "");
    write("results.txt", "");
    write("ops.txt", "topic t\nop thingEnd posted (u32 thing)\n");
    write(
        "finders.txt",
        """
        context: struct context *context: context_current(&context)
        thing of: struct thing *thing: arena_find(&things, GIVEN) else INVALID_HANDLE
        """);
    write("topic.contract", topic);
    new ShimSteps(Contract.read(folder)).emit(folder);
    String source = Files.readString(folder.resolve("steps_topic.c"));
    return source.substring(source.indexOf("CUresult"));
  }

  private void write(String file, String text) throws IOException {
    Files.writeString(folder.resolve(file), text);
  }
}
